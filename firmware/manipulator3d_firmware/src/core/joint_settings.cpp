// SPDX-License-Identifier: Apache-2.0
#include "joint_settings.h"

namespace {

const int16_t LARGEST_GAIN = 16000;     // four products with 16-bit numbers stay within 32 bits
const int32_t FASTEST_Q24 = 16L << 24;  // counts per tick; interpolation needs six times that in 32 bits

uint64_t rounded(uint64_t numerator, uint64_t denominator) { return (numerator + denominator / 2) / denominator; }

// Converts a gain; `ok` turns false when it is too large.
int16_t gain(uint64_t numerator, uint64_t denominator, bool* ok) {
  const uint64_t value = rounded(numerator, denominator);
  if (value > static_cast<uint64_t>(LARGEST_GAIN)) *ok = false;
  return static_cast<int16_t>(value);
}

}  // namespace

bool JointSettings::set(const messages::JointConfiguration& c) {
  if (!c.in_bounds() || c.sign == 0 || c.lower >= c.upper) return false;
  JointSettings made;
  // The unit of counts_per_radian is 1/1000.
  const uint64_t milli = c.counts_per_radian;
  made.q8_per_urad_q26 = static_cast<int32_t>(rounded(milli << 34, 1000000000ULL));
  made.urad_per_q8_q22 = static_cast<int32_t>(rounded(1000000000ULL << 14, milli));
  made.q24_per_mrad_s_q8 = static_cast<int32_t>(rounded(milli << 32, 1000000000ULL));
  made.mrad_s_per_q16_q30 = static_cast<int32_t>(rounded(1000000000ULL << 14, milli));
  made.reversed = c.sign < 0;

  bool ok = true;
  made.proportional = gain(c.proportional * 128000ULL, milli, &ok);
  made.integral = gain(c.integral * 20480ULL, milli, &ok);
  made.derivative = gain(c.derivative * 1280000ULL, milli, &ok);
  made.velocity_feedforward = gain(c.velocity_feedforward * 1280000ULL, milli, &ok);
  made.acceleration_feedforward = gain(c.acceleration_feedforward * 500000ULL, milli, &ok);
  made.deadband = static_cast<int16_t>(c.deadband * 4U / 5U);
  made.drive_limit = static_cast<int16_t>(c.drive_limit * (DRIVE_TOP / 100));
  made.slew = static_cast<int16_t>(c.slew * 4UL / 5UL);

  made.lower = made.position(c.lower);
  made.upper = made.position(c.upper);
  made.velocity = made.speed(c.velocity);
  const uint64_t fastest = (milli * c.velocity << 24) / 1000000000ULL;
  ok = ok && fastest > 0 && fastest <= static_cast<uint64_t>(FASTEST_Q24);
  const uint64_t acceleration = rounded((milli * c.acceleration) << 24, 100000000000ULL);
  ok = ok && acceleration > 0 && acceleration <= static_cast<uint64_t>(FASTEST_Q24);
  made.acceleration = static_cast<int32_t>(acceleration);
  const uint64_t tracking = milli * c.tracking_error / 10000000ULL;
  ok = ok && tracking >= 1 && tracking <= 32000;
  made.tracking = static_cast<int16_t>(tracking);
  made.overspeed = static_cast<int16_t>((made.velocity >> 16) + (made.velocity >> 17) + 32);
  made.stall_drive = static_cast<int16_t>(c.stall_drive * (DRIVE_TOP / 100));
  made.stall_ticks = c.stall_time;
  made.illegal_rate = c.illegal_rate;

  made.home_direction = c.home_direction;
  made.home_position = made.position(c.home_position);
  made.home_velocity = made.speed(c.home_velocity);
  ok = ok && c.home_velocity <= c.velocity;
  made.home_travel = made.position(static_cast<int32_t>(c.home_travel));
  made.home_ticks = c.home_time;
  if (ok) *this = made;
  return ok;
}

int32_t JointSettings::position(int32_t urad) const {
  return static_cast<int32_t>((static_cast<int64_t>(urad) * q8_per_urad_q26 + (1L << 25)) >> 26);
}

int32_t JointSettings::urad(int32_t position_q8) const {
  return static_cast<int32_t>((static_cast<int64_t>(position_q8) * urad_per_q8_q22 + (1L << 21)) >> 22);
}

int32_t JointSettings::speed(int32_t mrad_s) const {
  return static_cast<int32_t>((static_cast<int64_t>(mrad_s) * q24_per_mrad_s_q8) >> 8);
}

int16_t JointSettings::mrad_s(int32_t speed_q16) const {
  const int64_t value = (static_cast<int64_t>(speed_q16) * mrad_s_per_q16_q30) >> 30;
  if (value > 32767) return 32767;
  if (value < -32767) return -32767;
  return static_cast<int16_t>(value);
}
