// SPDX-License-Identifier: Apache-2.0
// Board: the periodic part and what it sends.
#include "board.h"

#include "version.h"

using namespace messages;

namespace {

const uint16_t REPORT_MS = 100;
const uint16_t HEALTH_MS = 1000;
const uint16_t PROGRESS_MS = 200;

// An angle beyond what the message holds reads as its end, not as one on the other side.
int32_t clipped(int32_t urad) { return urad > 8388607L ? 8388607L : urad < -8388607L ? -8388607L : urad; }

// Drive in 1/128, rounded; a full drive forwards is one step short.
int8_t drive_step(int16_t drive) {
  const int32_t half = drive < 0 ? -DRIVE_TOP / 2 : DRIVE_TOP / 2;
  const int32_t step = (static_cast<int32_t>(drive) * 128 + half) / DRIVE_TOP;
  return static_cast<int8_t>(step > 127 ? 127 : step);
}

}  // namespace

Board::Board(Line& line, Memory& memory, uint8_t reset_cause)
    : line_(line),
      store_(memory),
      homing_(control_),
      joint_configurations_(),
      board_configuration_(),
      answered_(),
      reset_cause_(reset_cause) {
  board_configuration_.command_silence = 100;
  board_configuration_.state_period = 10;
  board_configuration_.gripper_open = 1000;
  board_configuration_.gripper_closed = 2000;
}

void Board::start() {
  // A frame that the restart has cut off ends here.
  const uint8_t delimiter = 0;
  line_.send(&delimiter, 1);
  start_count_ = store_.count_start();
  JointConfiguration joints[JOINTS];
  BoardConfiguration board;
  if (store_.load(joints, &board)) {
    stored_ = true;
    use(board);
    for (uint8_t j = 0; j < JOINTS; ++j) {
      if (!use(joints[j])) stored_ = false;
    }
  }
  send_identity(0);
}

bool Board::use(const JointConfiguration& configuration) {
  JointSettings settings = JointSettings();
  if (!settings.set(configuration)) return false;
  const uint8_t j = configuration.joint;
  // A position in counts means something else under another scale.
  const JointConfiguration& before = joint_configurations_[j];
  if (before.counts_per_radian != configuration.counts_per_radian || before.sign != configuration.sign) {
    control_.set_known(j, false);
  }
  joint_configurations_[j] = configuration;
  control_.set_joint(j, settings);
  configured_ = static_cast<uint8_t>(configured_ | (1 << j));
  return true;
}

void Board::use(const BoardConfiguration& configuration) {
  board_configuration_ = configuration;
  control_.set_board(configuration.command_silence, configuration.has_emergency_stop != 0);
  gripper_.configure(configuration.gripper_open, configuration.gripper_closed);
}

void Board::receive(uint8_t byte, uint32_t now_us) {
  if (decoder_.feed(byte)) handle(now_us);
}

void Board::poll(const Panel& panel) {
  finish_store();
  if (control_.tick_low() == static_cast<uint8_t>(seen_tick_)) return;
  const Snapshot now = control_.snapshot();
  const uint16_t passed = static_cast<uint16_t>(now.tick - seen_tick_);
  seen_tick_ = now.tick;
  uptime_ms_ += passed;
  gripper_.button(panel.button_pressed);
  homing_.advance(now);
  const bool step_changed = homing_.take_change();
  if (step_changed || (homing_.active() && progress_left_ <= passed)) {
    send_home_progress(now);
    progress_left_ = PROGRESS_MS;
  } else {
    progress_left_ = static_cast<uint16_t>(progress_left_ > passed ? progress_left_ - passed : 0);
  }
  report_left_ = static_cast<uint16_t>(report_left_ > passed ? report_left_ - passed : 0);
  if (state_left_ <= passed) {
    send_state(now, panel);
    // After a State, so that both tell of the same instant.
    if (report_left_ == 0) {
      send_report(now);
      report_left_ = REPORT_MS;
    }
    // keeps the rate when a poll came late
    state_left_ = static_cast<uint16_t>(state_left_ + board_configuration_.state_period);
    if (state_left_ <= passed) state_left_ = static_cast<uint16_t>(passed + 1);
  }
  state_left_ = static_cast<uint16_t>(state_left_ - passed);
  if (health_left_ <= passed) {
    send_health(now, panel);
    health_left_ = static_cast<uint16_t>(HEALTH_MS + passed);
  }
  health_left_ = static_cast<uint16_t>(health_left_ - passed);
}

template <class M>
void Board::send(const M& message) {
  uint8_t payload[M::SIZE];
  uint8_t frame[MAX_FRAME_BYTES];
  pack(message, payload);
  const uint8_t bytes = encode_frame(M::ID, sequence_, payload, M::SIZE, frame);
  // A frame that finds no room leaves a gap in the sequence, so that the host counts it as lost.
  line_.send(frame, bytes);
  ++sequence_;
}

void Board::send_identity(uint32_t now_us) {
  Identity m;
  m.protocol = PROTOCOL_HASH;
  m.version_major = VERSION_MAJOR;
  m.version_minor = VERSION_MINOR;
  m.version_patch = VERSION_PATCH;
  m.boot_count = start_count_;
  m.time = now_us;
  m.reset_cause = reset_cause_;
  m.stored = stored_;
  send(m);
}

void Board::send_state(const Snapshot& now, const Panel& panel) {
  State m;
  m.time = now.time_us;
  for (uint8_t j = 0; j < JOINTS; ++j) {
    const bool scaled = (configured_ & (1 << j)) != 0;
    m.position[j] = scaled ? clipped(control_.settings(j).urad(now.position[j] * 256)) : 0;
    m.velocity[j] = scaled ? control_.settings(j).mrad_s(now.velocity_q16[j]) : 0;
  }
  m.mode = now.mode;
  m.fault = now.fault;
  m.fault_joint = now.fault_joint;
  uint16_t flags = static_cast<uint16_t>(control_.known() | (now.home_switches << 8));
  if (configured()) flags |= Flag::CONFIGURED;
  if (gripper_.closed()) flags |= Flag::GRIPPER_CLOSED;
  if (board_configuration_.has_grasp_sensor && panel.object_felt) flags |= Flag::OBJECT_DETECTED;
  if (now.emergency_stop_open) flags |= Flag::EMERGENCY_STOP_INPUT;
  if (now.moving) flags |= Flag::MOVING;
  if (now.powered) flags |= Flag::DRIVEN;
  if (gripper_.pressed()) flags |= Flag::BUTTON;
  m.flags = flags;
  send(m);
}

void Board::send_report(const Snapshot& now) {
  Report m;
  for (uint8_t j = 0; j < JOINTS; ++j) m.drive[j] = drive_step(now.drive[j]);
  m.queue_depth = control_.queue_depth();
  m.gripper_pulse = gripper_.pulse_us();
  send(m);
}

void Board::send_health(const Snapshot&, const Panel& panel) {
  Health m;
  m.uptime = uptime_ms_;
  m.loop_worst = panel.loop_worst_us;
  m.overruns = control_.overruns();
  for (uint8_t j = 0; j < JOINTS; ++j) m.illegal_transitions[j] = control_.illegal(j);
  m.frames_bad = decoder_.bad_frames();
  m.frames_lost = frames_lost_;
  m.bytes_lost = panel.bytes_lost;
  m.setpoints_late = setpoints_late_;
  m.setpoints_refused = setpoints_refused_;
  m.underflows = control_.underflows();
  m.reset_cause = reset_cause_;
  send(m);
}

void Board::send_home_progress(const Snapshot& now) {
  HomeProgress m;
  m.joint = homing_.joint();
  m.step = homing_.step();
  m.position = homing_.position_urad(now);
  send(m);
}

void Board::finish_store() {
  bool ok = false;
  if (!store_.advance(&ok)) return;
  stored_ = ok;
  const Outcome outcome = {ok ? static_cast<uint8_t>(0) : Reason::STORAGE, NO_JOINT};
  for (Answered& one : answered_) {
    if (one.pending) {
      one.pending = false;
      one.outcome = outcome;
    }
  }
  answer(Store::ID, store_sequence_, outcome);
}

void Board::answer(uint8_t message, uint8_t sequence, Outcome outcome) {
  if (outcome.reason == 0) {
    Acknowledge m;
    m.message = message;
    m.sequence = sequence;
    send(m);
  } else {
    Refuse m;
    m.message = message;
    m.sequence = sequence;
    m.reason = outcome.reason;
    m.joint = outcome.joint;
    send(m);
  }
}

// The requests in board_requests.cpp answer with these, too.
template void Board::send(const Clock&);
template void Board::send(const JointConfiguration&);
template void Board::send(const BoardConfiguration&);
