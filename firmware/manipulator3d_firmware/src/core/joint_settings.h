// SPDX-License-Identifier: Apache-2.0
// A joint's configuration in the units of the control interrupt.
//
// Positions are counts with 8 fractional bits ("Q8"), velocities counts per control tick with 24, accelerations counts
// per tick squared with 24, drives steps of the PWM of which DRIVE_TOP is full.
#pragma once

#include <stdint.h>

#include "../messages.h"

using messages::JOINTS;
const uint16_t TICK_US = 1000;
const int16_t DRIVE_TOP = 800;  // 16 MHz / 20 kHz

struct JointSettings {
  // Conversions; signed, as the compiler multiplies two signed 32-bit numbers in half the time of mixed ones.
  int32_t q8_per_urad_q26;
  int32_t urad_per_q8_q22;
  int32_t q24_per_mrad_s_q8;
  int32_t mrad_s_per_q16_q30;
  bool reversed;

  // Gains: what a 16-bit number of the unit behind it adds to the drive, with 12 fractional bits.
  int16_t proportional;              // error, Q8
  int16_t derivative;                // velocity, Q8
  int16_t velocity_feedforward;      // velocity, Q8
  int16_t acceleration_feedforward;  // acceleration, Q16
  int16_t integral;                  // error, Q8; per tick, with 16 fractional bits
  int16_t deadband;                  // drive
  int16_t drive_limit;               // drive
  int16_t slew;                      // drive per tick

  // Bounds.
  int32_t lower, upper;  // Q8
  int32_t velocity;      // Q24
  int32_t acceleration;  // Q24
  int16_t tracking;      // counts
  int16_t overspeed;     // Q8
  int16_t stall_drive;   // drive
  uint16_t stall_ticks;
  uint8_t illegal_rate;

  // Homing.
  int8_t home_direction;  // in the sense of the joint
  int32_t home_position;  // Q8
  int32_t home_velocity;  // Q24
  int32_t home_travel;    // Q8
  uint16_t home_ticks;

  // Fills everything from a configuration; false, and nothing is changed, when it cannot be represented.
  bool set(const messages::JointConfiguration& configuration);

  int32_t position(int32_t urad) const;     // Q8
  int32_t urad(int32_t position_q8) const;  // 10^-6 rad
  int32_t speed(int32_t mrad_s) const;      // Q24
  int16_t mrad_s(int32_t speed_q16) const;  // 10^-3 rad/s
};
