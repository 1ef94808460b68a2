// SPDX-License-Identifier: Apache-2.0
#include "homing.h"

using namespace messages;

namespace {

// Ticks to go on after the switch has opened, so that it is safely open.
const uint32_t CLEAR_TICKS = 100;
// Q8: how far inside the joint limits homing ends.
const int32_t INSIDE_Q8 = 16L << 8;

}  // namespace

void Homing::start(uint8_t joints, const Snapshot& now) {
  waiting_ = joints;
  active_ = true;
  for (uint8_t j = 0; j < JOINTS; ++j) {
    if ((joints & (1 << j)) != 0) control_.set_known(j, false);
  }
  control_.start_homing();
  next_joint(now);
}

void Homing::next_joint(const Snapshot& now) {
  for (uint8_t j = 0; j < JOINTS; ++j) {
    const uint8_t bit = static_cast<uint8_t>(1 << j);
    if ((waiting_ & bit) == 0) continue;
    waiting_ = static_cast<uint8_t>(waiting_ & ~bit);
    joint_ = j;
    joint_start_ = now.tick;
    const JointSettings& s = control_.settings(j);
    if ((now.home_switches & bit) != 0) {
      enter(HomeStep::BACK_OFF, -s.home_direction * (s.home_velocity >> 2), s.home_travel >> 2, now);
    } else {
      enter(HomeStep::APPROACH, s.home_direction * s.home_velocity, s.home_travel, now);
    }
    return;
  }
  active_ = false;
  control_.finish_homing();
}

void Homing::enter(uint8_t step, int32_t velocity, int32_t travel, const Snapshot& now) {
  step_ = step;
  stopping_ = false;
  changed_ = true;
  start_ = now.position[joint_];
  travel_ = travel;
  clear_tick_ = now.tick;
  control_.ramp(joint_, velocity);
}

void Homing::advance(const Snapshot& now) {
  if (!active_) return;
  if (now.mode != Mode::HOMING) {
    active_ = false;
    return;
  }
  const JointSettings& s = control_.settings(joint_);
  const bool closed = (now.home_switches & (1 << joint_)) != 0;
  int32_t way = now.position[joint_] - start_;
  if (way < 0) way = -way;
  if (now.tick - joint_start_ > s.home_ticks || (!stopping_ && way > (travel_ >> 8))) {
    active_ = false;
    control_.fault(Fault::HOMING_FAILED, joint_);
    return;
  }
  if (stopping_) {
    if (now.commanded_velocity[joint_] != 0) return;
    if (step_ == HomeStep::APPROACH) {
      enter(HomeStep::BACK_OFF, -s.home_direction * (s.home_velocity >> 2), s.home_travel >> 2, now);
    } else if (step_ == HomeStep::BACK_OFF) {
      enter(HomeStep::SLOW_APPROACH, s.home_direction * (s.home_velocity >> 4), s.home_travel >> 2, now);
    } else {
      next_joint(now);
    }
    return;
  }
  bool found = false;
  if (step_ == HomeStep::APPROACH) {
    found = closed;
  } else if (step_ == HomeStep::BACK_OFF) {
    if (closed) clear_tick_ = now.tick;
    found = now.tick - clear_tick_ >= CLEAR_TICKS;
  } else if (step_ == HomeStep::SLOW_APPROACH) {
    if (closed) set(now);
    return;
  } else {
    const int32_t position = now.position[joint_] * 256;
    found = !closed && position > s.lower + INSIDE_Q8 && position < s.upper - INSIDE_Q8;
  }
  if (found) {
    stopping_ = true;
    control_.ramp(joint_, 0);
  }
}

void Homing::set(const Snapshot& now) {
  const JointSettings& s = control_.settings(joint_);
  const int32_t shift = (s.home_position + 128) / 256 - now.position[joint_];
  control_.shift(joint_, shift);
  control_.set_known(joint_, true);
  // The joint leaves the switch for the inside of its limits.
  enter(HomeStep::SET, -s.home_direction * (s.home_velocity >> 1), s.home_travel >> 2, now);
  start_ += shift;
}

int32_t Homing::position_urad(const Snapshot& now) const {
  const int32_t from = step_ == HomeStep::SET ? 0 : start_;
  return control_.settings(joint_).urad((now.position[joint_] - from) * 256);
}

bool Homing::take_change() {
  const bool changed = changed_;
  changed_ = false;
  return changed;
}
