// SPDX-License-Identifier: Apache-2.0
#ifdef __AVR__
// The Arduino IDE compiles for size, which takes half as long again.
#pragma GCC optimize("O2")
#endif

#include "joint_loop.h"

void JointLoop::configure(const JointSettings& s) {
  proportional = s.proportional;
  derivative = s.derivative;
  velocity_feedforward = s.velocity_feedforward;
  acceleration_feedforward = s.acceleration_feedforward;
  integral_gain = s.integral;
  deadband = s.deadband;
  drive_limit = s.drive_limit;
  slew = s.slew;
  tracking = s.tracking;
  overspeed = s.overspeed;
  stall_drive = s.stall_drive;
  stall_ticks = s.stall_ticks;
  acceleration = s.acceleration;
  reversed = s.reversed;
}

void JointLoop::advance(int8_t steps, bool in_cubic) {
  measure(steps);
  if (in_cubic) axis.advance();
}

int16_t JointLoop::control() {
  const int32_t difference = axis.position - static_cast<int32_t>(static_cast<uint32_t>(counts) << 8);
  const int16_t whole_counts = static_cast<int16_t>(difference >> 8);
  // Q8; at its ends the drive has long been full
  int16_t error = static_cast<int16_t>(difference);
  if (whole_counts > 126) error = 32256;
  if (whole_counts < -126) error = -32256;
  int32_t sum = 0;
  add_product(sum, proportional, error);
  add_product(sum, derivative, static_cast<int16_t>(-static_cast<int16_t>(velocity_q16 >> 8)));
  // 12 fractional bits, and beyond the clip the drive is full anyway
  const int16_t high = static_cast<int16_t>(sum >> 16);
  int16_t wish;
  if (high > 124) {
    wish = 1984;
  } else if (high < -125) {
    wish = -1984;
  } else {
    wish = static_cast<int16_t>(static_cast<int16_t>(sum >> 8) >> 4);
  }
  wish = static_cast<int16_t>(wish + static_cast<int16_t>(integral >> 16) + feedforward);

  bool integrate = true;
  if (wish > drive_limit) {
    wish = drive_limit;
    integrate = error < 0;
  } else if (wish < -drive_limit) {
    wish = static_cast<int16_t>(-drive_limit);
    integrate = error > 0;
  } else if (resting) {
    // Within 3/4 of a count a resting joint is where it should be; the integral would only hunt.
    integrate = error > 192 || error < -192;
  }
  if (integrate) add_product(integral, integral_gain, error);

  const int16_t change = static_cast<int16_t>(wish - drive);
  if (change > slew) wish = static_cast<int16_t>(drive + slew);
  if (change < -slew) wish = static_cast<int16_t>(drive - slew);
  drive = wish;
  return reversed ? static_cast<int16_t>(-wish) : wish;
}

void JointLoop::look_ahead() {
  const int16_t wanted = static_cast<int16_t>(axis.velocity >> 16);
  resting = wanted == 0;
  int32_t sum = 0;
  add_product(sum, velocity_feedforward, wanted);
  add_product(sum, acceleration_feedforward, static_cast<int16_t>(axis.acceleration >> 8));
  int16_t ahead = static_cast<int16_t>(static_cast<int16_t>(sum >> 8) >> 4);
  const int16_t high = static_cast<int16_t>(sum >> 16);
  if (high > 124) ahead = 1984;
  if (high < -125) ahead = -1984;
  // The dead band is made up for in full from 1/32 count per tick on.
  if (wanted >= 8) {
    ahead = static_cast<int16_t>(ahead + deadband);
  } else if (wanted <= -8) {
    ahead = static_cast<int16_t>(ahead - deadband);
  } else if (wanted != 0) {
    ahead = static_cast<int16_t>(ahead + static_cast<int16_t>((deadband * wanted) >> 3));
  }
  feedforward = ahead;
}

uint8_t JointLoop::supervise() {
  using namespace messages;
  const int32_t most = static_cast<int32_t>(static_cast<uint32_t>(drive_limit) << 16);
  if (integral > most) integral = most;
  if (integral < -most) integral = -most;
  const int16_t off = static_cast<int16_t>((axis.position >> 8) - counts);
  if (off > tracking || off < -tracking) return Fault::TRACKING_ERROR;
  const int16_t speed = static_cast<int16_t>(velocity_q16 >> 8);
  if (speed > overspeed || speed < -overspeed) return Fault::SPEED_LIMIT;
  const int16_t effort = drive < 0 ? static_cast<int16_t>(-drive) : drive;
  if (effort < stall_drive || speed > 4 || speed < -4) {
    still_ticks = 0;
  } else {
    still_ticks = static_cast<uint16_t>(still_ticks + SUPERVISE_TICKS);
    if (still_ticks > stall_ticks) return Fault::STALL;
  }
  return Fault::NONE;
}
