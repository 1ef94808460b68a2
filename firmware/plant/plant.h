// SPDX-License-Identifier: Apache-2.0
// What the board is wired to: three DC gear motors with encoders, the arm they move, and its home switches.
#pragma once

#include <cstdint>

#include "arm_file.h"

class Plant {
 public:
  Plant(const ArmDescription& arm, const double start[3]);

  // Moves on by dt seconds, at most 1 ms, with drives of -1 to 1 in the sense of the motors.
  void advance(double dt, const double drive[3]);

  double position(int j) const { return q_[j]; }
  double velocity(int j) const { return v_[j]; }
  double current(int j) const { return current_[j]; }
  // Encoder counts since the start, in the sense of the encoder.
  int64_t counts(int j) const;
  bool switch_closed(int j) const { return closed_[j]; }

  void set_payload(double mass) { arm_.payload = mass; }
  void set_stuck(int j, bool stuck) { stuck_[j] = stuck; }
  void set_dead_switch(int j, bool dead) { dead_[j] = dead; }

 private:
  void torques(double torque[3], double load[3], double inertia[3][3]) const;

  ArmDescription arm_;
  double q_[3];
  double start_[3];
  double v_[3] = {0, 0, 0};
  double current_[3] = {0, 0, 0};
  bool closed_[3] = {false, false, false};
  bool stuck_[3] = {false, false, false};
  bool dead_[3] = {false, false, false};
};
