// SPDX-License-Identifier: Apache-2.0
// Segments of the commanded motion on their way from the main loop to the control interrupt.
#pragma once

#include <stdint.h>

#include "joint_settings.h"

// Commanded motion of one joint: a cubic in forward differences, so that a control tick costs three additions.
struct Axis {
  int32_t position;      // Q8
  uint16_t fraction;     // 16 more fractional bits of the position
  int32_t velocity;      // Q24, position difference of the next tick
  int32_t acceleration;  // Q24, difference of the velocity
  int32_t jerk;          // Q24, difference of the acceleration

  void move() {
    // position and fraction together are Q24; a carry out of the fraction goes to the position
    const uint32_t low = static_cast<uint32_t>(fraction) + static_cast<uint16_t>(velocity);
    fraction = static_cast<uint16_t>(low);
    position += (velocity >> 16) + static_cast<int32_t>(low >> 16);
  }
  void advance() {
    move();
    velocity += acceleration;
    acceleration += jerk;
  }
};

// A cubic from one setpoint to the next.
struct Segment {
  uint32_t start;  // tick
  uint8_t ticks;
  Axis axes[JOINTS];
};

// State of all joints at one tick.
struct Knot {
  uint32_t tick;
  int32_t position[JOINTS];  // Q8
  int32_t velocity[JOINTS];  // Q24
};

// Ring of segments with one writer, the main loop, and one reader, the interrupt.
class SetpointQueue {
 public:
  static const uint8_t CAPACITY = 40;

  bool empty() const { return head_ == tail_; }
  uint8_t depth() const { return static_cast<uint8_t>(head_ >= tail_ ? head_ - tail_ : head_ + SLOTS - tail_); }
  bool full() const { return depth() == CAPACITY; }

  // For the writer: fill back(), then push(). Call only when the queue is not full.
  Segment& back() { return segments_[head_]; }
  void push() { head_ = next(head_); }
  // For the reader; call only when the queue is not empty.
  const Segment& front() const { return segments_[tail_]; }
  void pop() { tail_ = next(tail_); }
  void clear() { tail_ = head_; }

 private:
  static const uint8_t SLOTS = CAPACITY + 1;
  static uint8_t next(uint8_t index) { return static_cast<uint8_t>(index + 1 == SLOTS ? 0 : index + 1); }

  Segment segments_[SLOTS];
  volatile uint8_t head_ = 0;
  volatile uint8_t tail_ = 0;
};

// Makes the cubic Hermite curve between two knots, which are 1 to 255 ticks apart.
void make_segment(const Knot& from, const Knot& to, Segment* segment);
