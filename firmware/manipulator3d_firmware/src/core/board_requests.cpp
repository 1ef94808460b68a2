// SPDX-License-Identifier: Apache-2.0
// Board: what the host asks for.
#include "board.h"

using namespace messages;

namespace {

// A host repeats a request within this time; sequence numbers come round after 256 frames.
const uint32_t REPEAT_TICKS = 1100;

// Payload of each message from the host, by id; 255 for an unknown one.
uint8_t size_of(uint8_t type) {
  switch (type) {
    case Identify::ID:
      return Identify::SIZE;
    case JointConfiguration::ID:
      return JointConfiguration::SIZE;
    case BoardConfiguration::ID:
      return BoardConfiguration::SIZE;
    case ReadJoint::ID:
      return ReadJoint::SIZE;
    case ReadBoard::ID:
      return ReadBoard::SIZE;
    case SynchroniseClock::ID:
      return SynchroniseClock::SIZE;
    case Setpoint::ID:
      return Setpoint::SIZE;
    case SetMode::ID:
      return SetMode::SIZE;
    case SetGripper::ID:
      return SetGripper::SIZE;
    case EmergencyStop::ID:
      return EmergencyStop::SIZE;
    case ResetFault::ID:
      return ResetFault::SIZE;
    case Home::ID:
      return Home::SIZE;
    case SetHere::ID:
      return SetHere::SIZE;
    case Store::ID:
      return Store::SIZE;
    default:
      return 255;
  }
}

template <class M>
bool read(const FrameDecoder& frame, M* message) {
  unpack(*message, frame.payload());
  return message->in_bounds();
}

}  // namespace

void Board::count_lost(uint8_t sequence) {
  const uint8_t gap = static_cast<uint8_t>(sequence - expected_);
  // A number from the past is a repetition.
  if (heard_ && gap >= 128) return;
  if (heard_) frames_lost_ = static_cast<uint16_t>(frames_lost_ + gap);
  heard_ = true;
  expected_ = static_cast<uint8_t>(sequence + 1);
}

void Board::handle(uint32_t now_us) {
  control_.hear();
  count_lost(decoder_.sequence());
  const uint8_t type = decoder_.type();
  const uint8_t size = size_of(type);
  if (size == 255 || size != decoder_.payload_bytes()) {
    answer(type, decoder_.sequence(), {size == 255 ? Reason::UNKNOWN_MESSAGE : Reason::BAD_LENGTH, NO_JOINT});
    return;
  }
  if (answer_at_once(now_us)) return;
  const uint32_t tick = control_.snapshot().tick;
  if (answer_repetition(tick)) return;
  const Outcome outcome = carry_out();
  const bool pending = type == Store::ID && outcome.reason == 0;
  remember(outcome, pending, tick);
  if (!pending) answer(type, decoder_.sequence(), outcome);
}

bool Board::answer_at_once(uint32_t now_us) {
  switch (decoder_.type()) {
    case Identify::ID:
      // A host that begins anew counts from anywhere.
      heard_ = false;
      count_lost(decoder_.sequence());
      send_identity(now_us);
      return true;
    case SynchroniseClock::ID: {
      SynchroniseClock asked;
      read(decoder_, &asked);
      Clock m;
      m.token = asked.token;
      m.time = now_us;
      send(m);
      return true;
    }
    case ReadJoint::ID: {
      ReadJoint asked;
      if (!read(decoder_, &asked)) {
        answer(ReadJoint::ID, decoder_.sequence(), {Reason::BAD_VALUE, NO_JOINT});
      } else if ((configured_ & (1 << asked.joint)) == 0) {
        answer(ReadJoint::ID, decoder_.sequence(), {Reason::NOT_CONFIGURED, asked.joint});
      } else {
        send(joint_configurations_[asked.joint]);
      }
      return true;
    }
    case ReadBoard::ID:
      send(board_configuration_);
      return true;
    case Setpoint::ID: {
      const Outcome outcome = setpoint();
      if (outcome.reason == 0) return true;
      uint16_t& counter = outcome.reason == Reason::LATE ? setpoints_late_ : setpoints_refused_;
      ++counter;
      answer(Setpoint::ID, decoder_.sequence(), outcome);
      return true;
    }
    default:
      return false;
  }
}

bool Board::answer_repetition(uint32_t tick) {
  for (const Answered& one : answered_) {
    if (one.sequence == decoder_.sequence() && one.crc == decoder_.crc() && one.tick != 0 &&
        tick - one.tick < REPEAT_TICKS) {
      if (!one.pending) answer(decoder_.type(), decoder_.sequence(), one.outcome);
      return true;
    }
  }
  return false;
}

void Board::remember(Outcome outcome, bool pending, uint32_t tick) {
  Answered& one = answered_[next_answer_];
  next_answer_ = static_cast<uint8_t>((next_answer_ + 1) & 3);
  one.tick = tick;
  one.crc = decoder_.crc();
  one.sequence = decoder_.sequence();
  one.pending = pending;
  one.outcome = outcome;
}

Board::Outcome Board::carry_out() {
  const Outcome done = {0, NO_JOINT};
  const Snapshot now = control_.snapshot();
  switch (decoder_.type()) {
    case JointConfiguration::ID:
      return configure_joint();
    case BoardConfiguration::ID:
      return configure_board();
    case SetMode::ID:
      return set_mode();
    case SetGripper::ID: {
      SetGripper m;
      if (!read(decoder_, &m)) return {Reason::BAD_VALUE, NO_JOINT};
      gripper_.set(m.closed != 0);
      return done;
    }
    case EmergencyStop::ID:
      control_.fault(Fault::EMERGENCY_STOP, NO_JOINT);
      return done;
    case ResetFault::ID:
      if (control_.reset()) return done;
      return {now.emergency_stop_open ? Reason::INPUT_ACTIVE : Reason::MOVING, NO_JOINT};
    case Home::ID:
      return home();
    case SetHere::ID:
      return set_here();
    default:  // Store
      if (now.mode != Mode::IDLE || store_.busy()) return {Reason::WRONG_MODE, NO_JOINT};
      if (!configured()) return {Reason::NOT_CONFIGURED, NO_JOINT};
      store_sequence_ = decoder_.sequence();
      store_.save(joint_configurations_, board_configuration_);
      return done;
  }
}

Board::Outcome Board::configure_joint() {
  JointConfiguration m;
  if (control_.snapshot().powered) return {Reason::WRONG_MODE, NO_JOINT};
  if (!read(decoder_, &m)) return {Reason::BAD_VALUE, m.joint};
  return {use(m) ? static_cast<uint8_t>(0) : Reason::BAD_VALUE, m.joint};
}

Board::Outcome Board::configure_board() {
  BoardConfiguration m;
  if (control_.snapshot().powered) return {Reason::WRONG_MODE, NO_JOINT};
  if (!read(decoder_, &m)) return {Reason::BAD_VALUE, NO_JOINT};
  use(m);
  return {0, NO_JOINT};
}

Board::Outcome Board::set_mode() {
  SetMode m;
  if (!read(decoder_, &m)) return {Reason::BAD_VALUE, NO_JOINT};
  const Snapshot now = control_.snapshot();
  if (now.fault != Fault::NONE) return {Reason::FAULTED, now.fault_joint};
  if (m.mode == Mode::IDLE) {
    if (now.moving) return {Reason::MOVING, NO_JOINT};
    control_.release();
    return {0, NO_JOINT};
  }
  if (!configured()) return {Reason::NOT_CONFIGURED, NO_JOINT};
  if (now.emergency_stop_open) return {Reason::INPUT_ACTIVE, NO_JOINT};
  if (m.mode == Mode::HOLD) {
    control_.hold();
    return {0, NO_JOINT};
  }
  if (now.mode == Mode::TRACK) return {0, NO_JOINT};
  if (now.mode == Mode::HOMING) return {Reason::WRONG_MODE, NO_JOINT};
  for (uint8_t j = 0; j < JOINTS; ++j) {
    if ((control_.known() & (1 << j)) == 0) return {Reason::NOT_HOMED, j};
  }
  control_.track();
  return {0, NO_JOINT};
}

Board::Outcome Board::home() {
  Home m;
  if (!read(decoder_, &m)) return {Reason::BAD_VALUE, NO_JOINT};
  const Snapshot now = control_.snapshot();
  if (now.fault != Fault::NONE) return {Reason::FAULTED, now.fault_joint};
  if (!configured()) return {Reason::NOT_CONFIGURED, NO_JOINT};
  if (now.emergency_stop_open) return {Reason::INPUT_ACTIVE, NO_JOINT};
  if (now.mode == Mode::HOMING) return {Reason::WRONG_MODE, NO_JOINT};
  if (now.moving) return {Reason::MOVING, NO_JOINT};
  for (uint8_t j = 0; j < JOINTS; ++j) {
    if ((m.joints & (1 << j)) != 0 && control_.settings(j).home_direction == 0) return {Reason::NO_SWITCH, j};
  }
  homing_.start(m.joints, now);
  return {0, NO_JOINT};
}

Board::Outcome Board::set_here() {
  SetHere m;
  if (!read(decoder_, &m)) return {Reason::BAD_VALUE, NO_JOINT};
  const Snapshot now = control_.snapshot();
  if (!configured()) return {Reason::NOT_CONFIGURED, NO_JOINT};
  if (now.mode == Mode::HOMING) return {Reason::WRONG_MODE, NO_JOINT};
  if (now.moving) return {Reason::MOVING, NO_JOINT};
  for (uint8_t j = 0; j < JOINTS; ++j) {
    const int32_t position = control_.settings(j).position(m.position[j]);
    if ((m.joints & (1 << j)) != 0 &&
        (position > control_.settings(j).upper || position < control_.settings(j).lower)) {
      return {Reason::JOINT_LIMIT, j};
    }
  }
  for (uint8_t j = 0; j < JOINTS; ++j) {
    if ((m.joints & (1 << j)) == 0) continue;
    const int32_t wanted = (control_.settings(j).position(m.position[j]) + 128) >> 8;
    control_.shift(j, wanted - control_.snapshot().position[j]);
    control_.set_known(j, true);
  }
  return {0, NO_JOINT};
}

Board::Outcome Board::setpoint() {
  Setpoint m;
  read(decoder_, &m);
  const Snapshot now = control_.snapshot();
  Knot knot;
  // The knot lies on the nearest tick; the position is moved along with it.
  const int32_t ahead_us = static_cast<int32_t>(m.time - now.time_us);
  if (ahead_us < 0) return {Reason::LATE, NO_JOINT};
  const uint32_t ticks = (static_cast<uint32_t>(ahead_us) + TICK_US / 2) / TICK_US;
  const int16_t off_us = static_cast<int16_t>(ticks * TICK_US - static_cast<uint32_t>(ahead_us));
  knot.tick = now.tick + ticks;
  for (uint8_t j = 0; j < JOINTS; ++j) {
    const JointSettings& s = control_.settings(j);
    // mrad/s times us is 10^-9 rad
    const int32_t correction = static_cast<int32_t>(m.velocity[j]) * off_us / 1000;
    knot.position[j] = s.position(m.position[j] + correction);
    knot.velocity[j] = s.speed(m.velocity[j]);
  }
  Outcome outcome = {0, NO_JOINT};
  outcome.reason = control_.append(knot, &outcome.joint);
  return outcome;
}
