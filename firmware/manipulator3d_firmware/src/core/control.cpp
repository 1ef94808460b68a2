// SPDX-License-Identifier: Apache-2.0
// The part of Control that runs in the interrupt: no division, no loop that waits.
#ifdef __AVR__
// The Arduino IDE compiles for size, which takes half as long again.
#pragma GCC optimize("O2")
#endif

#include "control.h"

#include "interrupt_lock.h"

using namespace messages;

namespace {

const uint8_t OVERRUNS_A_SECOND = 5;
// Q8: a joint may be this much beyond its limit before that is a fault; the brake at a limit needs some play.
const int32_t LIMIT_MARGIN_Q8 = 40L << 8;
// Q16: a joint beyond its limit may rest there or come back, but not go on.
const int32_t OUTWARD_Q16 = 1L << 13;

}  // namespace

Control::Control() : output_(), loops_(), tail_(), settings_(), illegal_(), illegal_before_() {
  mode_ = Mode::IDLE;
  fault_ = Fault::NONE;
  fault_joint_ = NO_JOINT;
}

const int16_t* Control::step(const Inputs& inputs) {
  ++tick_;
  tick_low_ = static_cast<uint8_t>(tick_);
  time_us_ += TICK_US;
  const uint8_t now = static_cast<uint8_t>(inputs.home_switches | (inputs.emergency_stop_open ? STOP_OPEN : 0));
  if (now != inputs_ || changing_low_ != 0 || changing_high_ != 0) debounce(now);
  if ((inputs_ & STOP_OPEN) != 0) check_stop();
  supervise();
  Advance advance = Advance::NONE;
  if (segment_left_ > 1) {
    --segment_left_;
    advance = Advance::CUBIC;
  } else if (powered_) {
    advance = next_advance();
  }
  const bool in_cubic = advance == Advance::CUBIC;
  // Three calls, as a loop takes longer.
  loops_[0].advance(inputs.steps[0], in_cubic);
  loops_[1].advance(inputs.steps[1], in_cubic);
  loops_[2].advance(inputs.steps[2], in_cubic);
  if ((inputs.illegal[0] | inputs.illegal[1] | inputs.illegal[2]) != 0) count_illegal(inputs.illegal);
  if (!powered_) return output_;
  if (!in_cubic) apply(advance);
  output_[0] = loops_[0].control();
  output_[1] = loops_[1].control();
  output_[2] = loops_[2].control();
  return output_;
}

void Control::count_illegal(const uint8_t* illegal) {
  for (uint8_t j = 0; j < JOINTS; ++j) illegal_[j] = static_cast<uint16_t>(illegal_[j] + illegal[j]);
}

void Control::debounce(uint8_t now) {
  // An input that differs for three ticks has changed. Two bits, in two bytes, count for all inputs at once.
  const uint8_t differing = static_cast<uint8_t>(now ^ inputs_);
  changing_high_ = static_cast<uint8_t>((changing_high_ ^ changing_low_) & differing);
  changing_low_ = static_cast<uint8_t>(~changing_low_ & differing);
  const uint8_t changed = static_cast<uint8_t>(changing_high_ & changing_low_);
  inputs_ ^= changed;
  changing_high_ = static_cast<uint8_t>(changing_high_ & ~changed);
  changing_low_ = static_cast<uint8_t>(changing_low_ & ~changed);
  if (changed == 0 || (mode_ != Mode::HOLD && mode_ != Mode::TRACK)) return;
  for (uint8_t j = 0; j < JOINTS; ++j) {
    if ((changed & inputs_ & (1 << j)) != 0 && switch_is_misplaced(j)) raise(Fault::LIMIT_SWITCH, j);
  }
}

void Control::check_stop() {
  if (has_stop_ && (powered_ || fault_ == Fault::NONE)) raise(Fault::EMERGENCY_STOP_INPUT, NO_JOINT);
}

bool Control::switch_is_misplaced(uint8_t j) const {
  if ((known_ & (1 << j)) == 0) return false;
  const int32_t off = loops_[j].counts * 256 - settings_[j].home_position;
  return off > LIMIT_MARGIN_Q8 || off < -LIMIT_MARGIN_Q8;
}

void Control::supervise() {
  if (++second_ >= 1000) {
    second_ = 0;
    overruns_this_second_ = 0;
    for (uint8_t j = 0; j < JOINTS; ++j) illegal_before_[j] = illegal_[j];
  }
  if (mode_ == Mode::TRACK || mode_ == Mode::HOMING) {
    if (++silent_ms_ > silence_ms_) raise(Fault::COMMAND_SILENCE, NO_JOINT);
  }
  if (!powered_) return;
  // The joints take turns, and in every fourth tick one of them is looked at closely.
  if (++turn_ == LOOK_AHEAD_TICKS) {
    turn_ = 0;
    slow_turn_ = static_cast<uint8_t>(slow_turn_ + 1 == JOINTS ? 0 : slow_turn_ + 1);
    supervise_joint(slow_turn_);
    return;
  }
  loops_[turn_ - 1].look_ahead();
}

void Control::supervise_joint(uint8_t j) {
  const uint8_t fault = loops_[j].supervise();
  if (fault != Fault::NONE) {
    raise(fault, j);
    return;
  }
  const JointSettings& s = settings_[j];
  if (static_cast<uint16_t>(illegal_[j] - illegal_before_[j]) > s.illegal_rate) raise(Fault::ENCODER, j);
  if ((known_ & (1 << j)) == 0 || mode_ == Mode::HOMING) return;
  const int32_t position = static_cast<int32_t>(static_cast<uint32_t>(loops_[j].counts) << 8);
  const int32_t velocity = loops_[j].velocity_q16;
  if ((velocity > OUTWARD_Q16 && position - LIMIT_MARGIN_Q8 > s.upper) ||
      (velocity < -OUTWARD_Q16 && position + LIMIT_MARGIN_Q8 < s.lower)) {
    raise(Fault::JOINT_LIMIT, j);
  }
}

Control::Advance Control::next_advance() {
  if (motion_ == Motion::RAMP) return Advance::RAMP;
  const bool ends = segment_left_ == 1;
  segment_left_ = 0;
  if (!queue_.empty() && static_cast<int32_t>(queue_.front().start - tick_) <= 0) {
    segment_left_ = queue_.front().ticks;
    return Advance::LOAD;
  }
  if (!ends) return Advance::RAMP;
  // The end of what was asked: at rest, or an underflow that brakes from here.
  for (uint8_t j = 0; j < JOINTS; ++j) {
    if (tail_.velocity[j] != 0) {
      ++underflows_;
      break;
    }
  }
  return Advance::END;
}

void Control::apply(Advance advance) {
  for (uint8_t j = 0; j < JOINTS; ++j) {
    JointLoop& loop = loops_[j];
    if (advance == Advance::RAMP) {
      loop.axis.ramp(loop.goal_velocity, loop.acceleration);
    } else if (advance == Advance::LOAD) {
      loop.axis = queue_.front().axes[j];
    } else {
      loop.axis.rest_at(tail_.position[j]);
      loop.axis.velocity = tail_.velocity[j];
      loop.goal_velocity = 0;
    }
  }
  if (advance == Advance::LOAD) queue_.pop();
}

void Control::power_off() {
  powered_ = false;
  for (uint8_t j = 0; j < JOINTS; ++j) {
    loops_[j].drive = 0;
    loops_[j].integral = 0;
    loops_[j].feedforward = 0;
    loops_[j].axis.velocity = 0;
    loops_[j].axis.acceleration = 0;
    output_[j] = 0;
  }
}

void Control::stop_and_hold() {
  queue_.clear();
  segment_left_ = 0;
  motion_ = Motion::RAMP;
  for (uint8_t j = 0; j < JOINTS; ++j) loops_[j].goal_velocity = 0;
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
    loops_[j].axis.rest_at(loops_[j].counts * 256);
    loops_[j].goal_velocity = 0;
    loops_[j].still_ticks = 0;
    if (were_off) {
      loops_[j].integral = 0;
      loops_[j].drive = 0;
    }
  }
}

void Control::overrun() {
  ++tick_;
  tick_low_ = static_cast<uint8_t>(tick_);
  time_us_ += TICK_US;
  ++overruns_;
  if (++overruns_this_second_ > OVERRUNS_A_SECOND && powered_) raise(Fault::LOOP_OVERRUN, NO_JOINT);
}
