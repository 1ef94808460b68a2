// SPDX-License-Identifier: Apache-2.0
// Finds the origin of incremental encoders: towards the switch, off it, slowly onto it again, set.
#pragma once

#include <stdint.h>

#include "control.h"

class Homing {
 public:
  explicit Homing(Control& control) : control_(control) {}

  // Begins with the lowest joint of `joints` (bit j for joint j); each must have a switch.
  void start(uint8_t joints, const Snapshot& now);
  // Goes on; call at least once a tick. Ends by itself when the mode is no longer HOMING.
  void advance(const Snapshot& now);

  bool active() const { return active_; }
  uint8_t joint() const { return joint_; }
  uint8_t step() const { return step_; }
  // 10^-6 rad; from the start of the step, after SET the position itself.
  int32_t position_urad(const Snapshot& now) const;
  // True once after each change of the step.
  bool take_change();

 private:
  void begin_joint(const Snapshot& now);
  void enter(uint8_t step, int32_t velocity, int32_t travel, const Snapshot& now);
  void set(const Snapshot& now);
  void next_joint(const Snapshot& now);

  Control& control_;
  uint8_t waiting_ = 0;  // joints to come
  uint8_t joint_ = 0;
  uint8_t step_ = 0;
  bool active_ = false;
  bool stopping_ = false;  // the step has found what it looked for and brakes
  bool changed_ = false;
  int32_t start_ = 0;         // counts at the start of the step
  int32_t travel_ = 0;        // Q8, bound of the step
  uint32_t clear_tick_ = 0;   // since when the switch is open, in BACK_OFF
  uint32_t joint_start_ = 0;  // tick
};
