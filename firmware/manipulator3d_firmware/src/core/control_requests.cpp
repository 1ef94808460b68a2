// SPDX-License-Identifier: Apache-2.0
// The part of Control that the main loop calls.
#include "control.h"
#include "interrupt_lock.h"

using namespace messages;

namespace {

// Ticks from a setpoint's arrival to the start of its segment when nothing is under way: making it takes less.
const uint8_t START_TICKS = 4;
const uint8_t LONGEST_TICKS = 250;
// Ticks that a first setpoint may lie ahead.
const uint32_t LONGEST_WAIT = 2000;
// Q8: what rounding of positions and times may add to the way between two setpoints.
const int32_t JUMP_MARGIN = 2L << 8;
// A segment may take this many times the acceleration limit: catching up after a late setpoint needs more than the
// limit.
const uint8_t GENTLE = 4;
// Q24 and ticks: what rounding adds to the acceleration of a segment.
const int32_t ROUNDING_Q24 = 1L << 21;
// Q8: a setpoint's braking distance may pass a limit by this.
const int32_t BRAKE_MARGIN = 20L << 8;

}  // namespace

Snapshot Control::snapshot() const {
  Snapshot s;
  InterruptLock lock;
  s.tick = tick_;
  s.time_us = time_us_;
  for (uint8_t j = 0; j < JOINTS; ++j) {
    s.position[j] = loops_[j].counts;
    s.velocity_q16[j] = loops_[j].velocity_q16;
    s.commanded_velocity[j] = loops_[j].axis.velocity;
    s.drive[j] = loops_[j].drive;
  }
  s.mode = mode_;
  s.fault = fault_;
  s.fault_joint = fault_joint_;
  s.home_switches = static_cast<uint8_t>(inputs_ & 7);
  s.emergency_stop_open = stop_open();
  s.powered = powered_;
  s.moving = !still();
  return s;
}

bool Control::still() const {
  if (segment_left_ > 0 || !queue_.empty()) return false;
  for (uint8_t j = 0; j < JOINTS; ++j) {
    if (loops_[j].axis.velocity != 0 || loops_[j].goal_velocity != 0) return false;
  }
  return true;
}

void Control::set_joint(uint8_t joint, const JointSettings& settings) {
  InterruptLock lock;
  settings_[joint] = settings;
  loops_[joint].configure(settings);
}

void Control::set_board(uint16_t silence_ms, bool has_emergency_stop) {
  InterruptLock lock;
  silence_ms_ = silence_ms;
  has_stop_ = has_emergency_stop;
}

void Control::hear() {
  InterruptLock lock;
  silent_ms_ = 0;
}

void Control::hold() {
  InterruptLock lock;
  if (!powered_) power_on();
  stop_and_hold();
  mode_ = Mode::HOLD;
}

void Control::release() {
  InterruptLock lock;
  stop_and_hold();
  power_off();
  mode_ = Mode::IDLE;
}

void Control::track() {
  InterruptLock lock;
  if (!powered_) power_on();
  stop_and_hold();
  motion_ = Motion::FOLLOW;
  mode_ = Mode::TRACK;
  silent_ms_ = 0;
}

void Control::start_homing() {
  InterruptLock lock;
  if (!powered_) power_on();
  stop_and_hold();
  mode_ = Mode::HOMING;
  silent_ms_ = 0;
}

void Control::finish_homing() {
  InterruptLock lock;
  if (mode_ != Mode::HOMING) return;
  stop_and_hold();
  mode_ = Mode::HOLD;
}

void Control::ramp(uint8_t joint, int32_t velocity) {
  InterruptLock lock;
  if (mode_ == Mode::HOMING) loops_[joint].goal_velocity = velocity;
}

void Control::shift(uint8_t joint, int32_t counts) {
  InterruptLock lock;
  loops_[joint].counts += counts;
  loops_[joint].axis.position += counts * 256;
}

void Control::set_known(uint8_t joint, bool known) {
  InterruptLock lock;
  const uint8_t bit = static_cast<uint8_t>(1 << joint);
  known_ = static_cast<uint8_t>(known ? known_ | bit : known_ & ~bit);
}

void Control::fault(uint8_t code, uint8_t joint) {
  InterruptLock lock;
  raise(code, joint);
}

bool Control::reset() {
  InterruptLock lock;
  if (stop_open() || !still()) return false;
  fault_ = Fault::NONE;
  fault_joint_ = NO_JOINT;
  mode_ = powered_ ? Mode::HOLD : Mode::IDLE;
  for (uint8_t j = 0; j < JOINTS; ++j) illegal_before_[j] = illegal_[j];
  return true;
}

uint16_t Control::illegal(uint8_t joint) const {
  InterruptLock lock;
  return illegal_[joint];
}

uint16_t Control::overruns() const {
  InterruptLock lock;
  return overruns_;
}

uint16_t Control::underflows() const {
  InterruptLock lock;
  return underflows_;
}

bool Control::predict(uint32_t ahead, Knot* knot) const {
  Axis axes[JOINTS];
  int32_t goals[JOINTS];
  {
    InterruptLock lock;
    if (segment_left_ > 0 || !queue_.empty()) {
      *knot = tail_;
      return true;
    }
    knot->tick = tick_ + ahead;
    for (uint8_t j = 0; j < JOINTS; ++j) {
      axes[j] = loops_[j].axis;
      goals[j] = loops_[j].goal_velocity;
    }
  }
  // The interrupt goes on braking until the segment starts, and so does this copy.
  for (uint8_t j = 0; j < JOINTS; ++j) {
    const int32_t most = settings_[j].acceleration;
    for (uint32_t k = 0; k < ahead; ++k) axes[j].ramp(goals[j], most);
    knot->position[j] = axes[j].position;
    knot->velocity[j] = axes[j].velocity;
  }
  return false;
}

void Control::wait_for_start(const Knot& knot, Knot* from) const {
  // A resting arm may begin later than now.
  for (uint8_t j = 0; j < JOINTS; ++j) {
    if (from->velocity[j] != 0) return;
  }
  const uint32_t ahead = knot.tick - from->tick;
  if (ahead > LONGEST_TICKS && ahead < LONGEST_WAIT) from->tick = knot.tick - LONGEST_TICKS;
}

uint8_t Control::check(const Knot& from, const Knot& to, uint8_t* joint) const {
  const int32_t ticks = static_cast<int32_t>(to.tick - from.tick);
  *joint = NO_JOINT;
  if (ticks < 1) return Reason::LATE;
  if (ticks > LONGEST_TICKS) return Reason::TOO_FAR_AHEAD;
  for (uint8_t j = 0; j < JOINTS; ++j) {
    const JointSettings& s = settings_[j];
    *joint = j;
    const int32_t speed = to.velocity[j] < 0 ? -to.velocity[j] : to.velocity[j];
    if (speed > s.velocity + (s.velocity >> 4)) return Reason::SPEED_LIMIT;
    if (to.position[j] > s.upper + 128 || to.position[j] < s.lower - 128) return Reason::JOINT_LIMIT;
    if (speed >= s.acceleration) {
      // It can brake within the room that is left if v^2 < 2 a room; with v in Q16 both sides fit 64 bits.
      const int32_t room = (to.velocity[j] < 0 ? to.position[j] - s.lower : s.upper - to.position[j]) + BRAKE_MARGIN;
      const int32_t fine_speed = speed >> 8;
      const int64_t square = static_cast<int64_t>(fine_speed) * fine_speed;
      if (square >= static_cast<int64_t>(s.acceleration) * (2 * (room + 1))) return Reason::JOINT_LIMIT;
    }
    int32_t way = to.position[j] - from.position[j];
    if (way < 0) way = -way;
    const int32_t fastest = (s.velocity >> 8) + (s.velocity >> 10);  // Q16
    if (way > JUMP_MARGIN && static_cast<int64_t>(way - JUMP_MARGIN) * 256 > static_cast<int64_t>(fastest) * ticks) {
      return Reason::JUMP;
    }
  }
  *joint = NO_JOINT;
  return 0;
}

bool Control::is_gentle(const Segment& segment, uint8_t* joint) const {
  for (uint8_t j = 0; j < JOINTS; ++j) {
    // The acceleration is linear, so its largest value is at an end.
    const Axis& axis = segment.axes[j];
    const int64_t begin = static_cast<int64_t>(axis.acceleration) - axis.jerk;
    const int64_t end = begin + static_cast<int64_t>(axis.jerk) * segment.ticks;
    const int64_t bound = static_cast<int64_t>(settings_[j].acceleration) * GENTLE + ROUNDING_Q24 / segment.ticks;
    if (begin > bound || begin < -bound || end > bound || end < -bound) {
      *joint = j;
      return false;
    }
  }
  return true;
}

uint8_t Control::append(const Knot& knot, uint8_t* joint) {
  *joint = NO_JOINT;
  if (mode_ != Mode::TRACK) return Reason::WRONG_MODE;
  if (queue_.full()) return Reason::QUEUE_FULL;
  Knot from;
  const bool continued = predict(START_TICKS, &from);
  if (!continued) wait_for_start(knot, &from);
  const uint8_t reason = check(from, knot, joint);
  if (reason != 0) return reason;
  make_segment(from, knot, &queue_.back());
  if (!is_gentle(queue_.back(), joint)) return Reason::JUMP;
  InterruptLock lock;
  // Meanwhile the last segment may have ended, or the time to start this one may have passed.
  const bool in_time = continued ? segment_left_ > 0 || !queue_.empty() : static_cast<int32_t>(from.tick - tick_) > 0;
  if (!in_time || mode_ != Mode::TRACK) return Reason::LATE;
  tail_ = knot;
  queue_.push();
  return 0;
}
