// SPDX-License-Identifier: Apache-2.0
// The part of Control that runs in the interrupt: no division, no loop that waits.
#include "control.h"

#include "interrupt_lock.h"

using namespace messages;

namespace {

const uint8_t DEBOUNCE_TICKS = 3;
const uint8_t OVERRUNS_A_SECOND = 5;
// Q8: a joint may be this much beyond its limit before that is a fault; the brake at a limit needs some play.
const int32_t LIMIT_MARGIN_Q8 = 40L << 8;
// 1/8 count: below it a resting joint is where it should be, and the integral would only hunt.
const int16_t REST_ERROR = 6;

inline int32_t clip(int32_t value, int32_t bound) {
  if (value > bound) return bound;
  if (value < -bound) return -bound;
  return value;
}

inline int32_t product(int16_t a, int16_t b) { return static_cast<int32_t>(a) * b; }

}  // namespace

Control::Control() : settings_(), joints_(), axes_(), tail_(), output_(), switch_ticks_() {
  mode_ = Mode::IDLE;
  fault_ = Fault::NONE;
  fault_joint_ = NO_JOINT;
}

const int16_t* Control::step(const Inputs& inputs) {
  ++tick_;
  time_us_ += TICK_US;
  measure(inputs);
  supervise();
  if (powered_) {
    command();
    for (uint8_t j = 0; j < JOINTS; ++j) drive_joint(j);
  }
  return output_;
}

void Control::measure(const Inputs& inputs) {
  for (uint8_t j = 0; j < JOINTS; ++j) {
    Joint& joint = joints_[j];
    const int8_t steps = settings_[j].reversed ? static_cast<int8_t>(-inputs.steps[j]) : inputs.steps[j];
    joint.counts += steps;
    joint.velocity_q16 += ((static_cast<int32_t>(steps) << 16) - joint.velocity_q16) >> 3;
    if (inputs.illegal[j] != 0) joint.illegal = static_cast<uint16_t>(joint.illegal + inputs.illegal[j]);
    const uint8_t bit = static_cast<uint8_t>(1 << j);
    if (((inputs.home_switches ^ switches_) & bit) == 0) {
      switch_ticks_[j] = 0;
    } else if (++switch_ticks_[j] >= DEBOUNCE_TICKS) {
      switch_ticks_[j] = 0;
      switches_ ^= bit;
      const bool closed = (switches_ & bit) != 0;
      if (closed && (mode_ == Mode::HOLD || mode_ == Mode::TRACK) && switch_is_misplaced(j))
        raise(Fault::LIMIT_SWITCH, j);
    }
  }
  if (inputs.emergency_stop_open == stop_open_) {
    stop_ticks_ = 0;
  } else if (++stop_ticks_ >= DEBOUNCE_TICKS) {
    stop_ticks_ = 0;
    stop_open_ = !stop_open_;
  }
  if (stop_open_ && has_stop_ && fault_ != Fault::EMERGENCY_STOP_INPUT) raise(Fault::EMERGENCY_STOP_INPUT, NO_JOINT);
}

bool Control::switch_is_misplaced(uint8_t j) const {
  if ((known_ & (1 << j)) == 0) return false;
  const int32_t off = (joints_[j].counts << 8) - settings_[j].home_position;
  return off > LIMIT_MARGIN_Q8 || off < -LIMIT_MARGIN_Q8;
}

void Control::supervise() {
  if (++second_ >= 1000) {
    second_ = 0;
    overruns_this_second_ = 0;
    for (uint8_t j = 0; j < JOINTS; ++j) joints_[j].illegal_before = joints_[j].illegal;
  }
  if (mode_ == Mode::TRACK || mode_ == Mode::HOMING) {
    if (++silent_ms_ > silence_ms_) raise(Fault::COMMAND_SILENCE, NO_JOINT);
  }
  // Checks that may wait for two ticks take turns.
  const uint8_t j = turn_;
  turn_ = static_cast<uint8_t>(turn_ + 1 == JOINTS ? 0 : turn_ + 1);
  if (!powered_) return;
  const Joint& joint = joints_[j];
  const JointSettings& s = settings_[j];
  if (static_cast<uint16_t>(joint.illegal - joint.illegal_before) > s.illegal_rate) raise(Fault::ENCODER, j);
  if ((known_ & (1 << j)) != 0 && mode_ != Mode::HOMING) {
    const int32_t position = joint.counts << 8;
    const int32_t velocity = axes_[j].velocity;
    if ((position > s.upper + LIMIT_MARGIN_Q8 && velocity > 0) ||
        (position < s.lower - LIMIT_MARGIN_Q8 && velocity < 0)) {
      raise(Fault::JOINT_LIMIT, j);
    }
  }
}

void Control::command() {
  if (motion_ == Motion::FOLLOW) {
    follow();
  } else {
    ramp_all();
  }
}

void Control::follow() {
  if (segment_left_ > 0) {
    --segment_left_;
    for (uint8_t j = 0; j < JOINTS; ++j) axes_[j].advance();
    if (segment_left_ > 0) return;
    if (queue_.empty()) {
      // The end of what was asked: at rest, or an underflow that brakes from here.
      bool moving = false;
      for (uint8_t j = 0; j < JOINTS; ++j) {
        Axis& axis = axes_[j];
        axis.position = tail_.position[j];
        axis.fraction = 0;
        axis.velocity = tail_.velocity[j];
        axis.acceleration = 0;
        axis.jerk = 0;
        joints_[j].goal_velocity = 0;
        moving = moving || axis.velocity != 0;
      }
      if (moving) ++underflows_;
      return;
    }
  } else if (queue_.empty() || static_cast<int32_t>(queue_.front().start - tick_) > 0) {
    ramp_all();
    return;
  }
  const Segment& next = queue_.front();
  for (uint8_t j = 0; j < JOINTS; ++j) axes_[j] = next.axes[j];
  segment_left_ = next.ticks;
  queue_.pop();
}

void Control::ramp_all() {
  for (uint8_t j = 0; j < JOINTS; ++j) {
    Axis& axis = axes_[j];
    axis.acceleration = clip(joints_[j].goal_velocity - axis.velocity, settings_[j].acceleration);
    axis.velocity += axis.acceleration;
    axis.move();
  }
}

void Control::drive_joint(uint8_t j) {
  Joint& joint = joints_[j];
  const JointSettings& s = settings_[j];
  const Axis& axis = axes_[j];
  const int32_t difference = axis.position - (joint.counts << 8);
  const int16_t error = static_cast<int16_t>(clip((difference << 3) >> 8, 32000));
  const int16_t speed = static_cast<int16_t>(joint.velocity_q16 >> 8);
  if (error > s.tracking || error < -s.tracking) {
    raise(Fault::TRACKING_ERROR, j);
    if (!powered_) return;
  }
  if (speed > s.overspeed || speed < -s.overspeed) {
    raise(Fault::SPEED_LIMIT, j);
    return;
  }
  const int16_t wanted = static_cast<int16_t>(axis.velocity >> 16);
  int32_t sum = product(s.proportional, error) - product(s.derivative, speed) +
                product(s.velocity_feedforward, wanted) +
                product(s.acceleration_feedforward, static_cast<int16_t>(axis.acceleration >> 8));
  sum = clip(sum, 4000L << 12);
  // The dead band is made up for in full from 1/32 count per tick on.
  int16_t smooth = wanted;
  if (smooth > 8) smooth = 8;
  if (smooth < -8) smooth = -8;
  int16_t drive = static_cast<int16_t>((static_cast<int16_t>(sum >> 8) >> 4) + (joint.integral >> 16) +
                                       (static_cast<int16_t>(s.deadband * smooth) >> 3));
  const bool resting = wanted == 0 && error <= REST_ERROR && error >= -REST_ERROR;
  const bool saturated = (drive > s.drive_limit && error > 0) || (drive < -s.drive_limit && error < 0);
  if (!resting && !saturated) {
    joint.integral = clip(joint.integral + product(s.integral, error), static_cast<int32_t>(s.drive_limit) << 16);
  }
  if (drive > s.drive_limit) drive = s.drive_limit;
  if (drive < -s.drive_limit) drive = static_cast<int16_t>(-s.drive_limit);
  if (drive > joint.drive + s.slew) drive = static_cast<int16_t>(joint.drive + s.slew);
  if (drive < joint.drive - s.slew) drive = static_cast<int16_t>(joint.drive - s.slew);
  joint.drive = drive;
  output_[j] = s.reversed ? static_cast<int16_t>(-drive) : drive;
  if ((drive < s.stall_drive && drive > -s.stall_drive) || speed > 4 || speed < -4) {
    joint.still_ticks = 0;
  } else if (++joint.still_ticks > s.stall_ticks) {
    raise(Fault::STALL, j);
  }
}

void Control::power_off() {
  powered_ = false;
  for (uint8_t j = 0; j < JOINTS; ++j) {
    joints_[j].drive = 0;
    joints_[j].integral = 0;
    output_[j] = 0;
    axes_[j].velocity = 0;
    axes_[j].acceleration = 0;
  }
}

void Control::stop_and_hold() {
  queue_.clear();
  segment_left_ = 0;
  motion_ = Motion::RAMP;
  for (uint8_t j = 0; j < JOINTS; ++j) joints_[j].goal_velocity = 0;
}

void Control::raise(uint8_t code, uint8_t joint) {
  if (mode_ == Mode::HOMING && (code == Fault::TRACKING_ERROR || code == Fault::STALL)) code = Fault::HOMING_FAILED;
  stop_and_hold();
  const bool first = fault_ == Fault::NONE;
  if (first) {
    fault_ = code;
    fault_joint_ = joint;
    mode_ = Mode::FAULT;
  }
  switch (code) {
    case Fault::EMERGENCY_STOP_INPUT:
    case Fault::SPEED_LIMIT:
    case Fault::STALL:
    case Fault::ENCODER:
    case Fault::LOOP_OVERRUN:
      power_off();
      break;
    case Fault::TRACKING_ERROR:
    case Fault::HOMING_FAILED:
      // A joint that is still off its place after this has been raised is not held by anything.
      if (first) {
        power_on();
      } else {
        power_off();
      }
      break;
    default:
      break;
  }
}

void Control::power_on() {
  const bool were_off = !powered_;
  powered_ = true;
  for (uint8_t j = 0; j < JOINTS; ++j) {
    axes_[j].position = joints_[j].counts << 8;
    axes_[j].fraction = 0;
    axes_[j].velocity = 0;
    axes_[j].acceleration = 0;
    axes_[j].jerk = 0;
    joints_[j].goal_velocity = 0;
    joints_[j].still_ticks = 0;
    if (were_off) {
      joints_[j].integral = 0;
      joints_[j].drive = 0;
    }
  }
}

void Control::overrun() {
  ++tick_;
  time_us_ += TICK_US;
  ++overruns_;
  if (++overruns_this_second_ > OVERRUNS_A_SECOND && powered_) raise(Fault::LOOP_OVERRUN, NO_JOINT);
}
