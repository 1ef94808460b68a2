// SPDX-License-Identifier: Apache-2.0
// Segments of the commanded motion on their way from the main loop to the control interrupt.
#pragma once

#include <stdint.h>

#include "joint_loop.h"

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
