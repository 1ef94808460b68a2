// SPDX-License-Identifier: Apache-2.0
// One joint in the control interrupt: commanded motion, measurement, and the drive that brings one to the other.
#pragma once

#include <stdint.h>

#include "joint_settings.h"

// The control step has little time, so the parts of it are not to become calls.
#define CONTROL_INLINE inline __attribute__((always_inline))

// Adds a product to a sum. The compiler's own takes twice as long on AVR.
CONTROL_INLINE void add_product(int32_t& sum, int16_t a, int16_t b) {
#ifdef __AVR__
  uint8_t zero;
  __asm__(
      "clr %[zero] \n"
      "muls %B[a], %B[b] \n add %C[sum], r0 \n adc %D[sum], r1 \n"
      "mul %A[a], %A[b] \n add %A[sum], r0 \n adc %B[sum], r1 \n adc %C[sum], %[zero] \n adc %D[sum], %[zero] \n"
      "mulsu %B[a], %A[b] \n sbc %D[sum], %[zero] \n"
      "add %B[sum], r0 \n adc %C[sum], r1 \n adc %D[sum], %[zero] \n"
      "mulsu %B[b], %A[a] \n sbc %D[sum], %[zero] \n"
      "add %B[sum], r0 \n adc %C[sum], r1 \n adc %D[sum], %[zero] \n"
      "clr r1"
      : [sum] "+r"(sum), [zero] "=&r"(zero)
      : [a] "a"(a), [b] "a"(b));
#else
  sum += static_cast<int32_t>(a) * b;
#endif
}

// Commanded motion: a cubic in forward differences, so that a control tick costs three additions.
struct Axis {
  int32_t position;      // Q8
  uint16_t fraction;     // 16 more fractional bits of the position
  int32_t velocity;      // Q24, position difference of the next tick
  int32_t acceleration;  // Q24, difference of the velocity
  int32_t jerk;          // Q24, difference of the acceleration

  CONTROL_INLINE void move() {
    // position and fraction together are Q24; a carry out of the fraction goes to the position
    const uint16_t low = static_cast<uint16_t>(fraction + static_cast<uint16_t>(velocity));
    position += static_cast<int16_t>(velocity >> 16);
    if (low < fraction) ++position;
    fraction = low;
  }
  CONTROL_INLINE void advance() {
    move();
    velocity += acceleration;
    acceleration += jerk;
  }
  // Brings the velocity towards a goal by at most `most`, and moves.
  void ramp(int32_t goal, int32_t most) {
    int32_t change = goal - velocity;
    if (change > most) change = most;
    if (change < -most) change = -most;
    acceleration = change;
    velocity += change;
    move();
  }
  void rest_at(int32_t place) {
    position = place;
    fraction = 0;
    velocity = 0;
    acceleration = 0;
    jerk = 0;
  }
};

// Members in the order in which they are used: the first 64 bytes are reached by the short addresses of the processor.
struct JointLoop {
  int32_t counts;
  int32_t velocity_q16;  // counts per tick, filtered over about 8 ticks
  Axis axis;
  int16_t proportional, derivative, integral_gain;
  int32_t integral;     // drive with 16 fractional bits
  int16_t feedforward;  // drive
  int16_t drive_limit, slew;
  int16_t drive;  // in the sense of the joint
  bool reversed;
  bool resting;  // nothing moves and nothing should

  int16_t velocity_feedforward, acceleration_feedforward, deadband;
  int16_t tracking, overspeed;
  int16_t stall_drive;
  uint16_t still_ticks;  // driven hard without moving
  uint16_t stall_ticks;
  int32_t goal_velocity;  // Q24
  int32_t acceleration;   // Q24, limit

  void configure(const JointSettings& s);
  // Each tick: counts what the encoder has made.
  CONTROL_INLINE void measure(int8_t steps) {
    if (reversed) steps = static_cast<int8_t>(-steps);
    if (steps != 0) counts += steps;
    velocity_q16 += ((static_cast<int32_t>(static_cast<uint32_t>(steps) << 16)) - velocity_q16) >> 3;
  }
  // Each tick: measures, and goes on in the commanded cubic if it is in one.
  void advance(int8_t steps, bool in_cubic);
  // Each tick: sets the drive, and returns it in the sense of the motor.
  int16_t control();
  // In every fourth tick: what the motion wants beforehand.
  void look_ahead();
  // In every twelfth tick: what may wait. Returns a messages::Fault, or 0.
  uint8_t supervise();
};

// Ticks from one call to the next, of JointLoop::look_ahead() and of JointLoop::supervise().
const uint8_t LOOK_AHEAD_TICKS = JOINTS + 1;
const uint8_t SUPERVISE_TICKS = JOINTS * LOOK_AHEAD_TICKS;
