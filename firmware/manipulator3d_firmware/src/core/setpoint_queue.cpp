// SPDX-License-Identifier: Apache-2.0
#include "setpoint_queue.h"

namespace {

// Divides by a number of ticks h, 1 to 255. Multiplying by 2^32 / h is a tenth of the work of a division on AVR; what
// that loses is less than two units of the result.
class DivideByTicks {
 public:
  explicit DivideByTicks(uint8_t h) : one_(h == 1), reciprocal_(one_ ? 0 : static_cast<int32_t>(0xFFFFFFFFUL / h)) {}
  int32_t operator()(int32_t value) const { return one_ ? value : static_cast<int32_t>(product(value) >> 32); }
  // The quotient with 16 more fractional bits.
  int32_t fine(int32_t value) const {
    return one_ ? static_cast<int32_t>(static_cast<uint32_t>(value) << 16) : static_cast<int32_t>(product(value) >> 16);
  }

 private:
  // rounds to the nearest, so that a curve to rest ends at rest
  int64_t product(int32_t value) const { return static_cast<int64_t>(value) * reciprocal_ + 0x7FFFFFFFL; }

  const bool one_;
  const int32_t reciprocal_;
};

}  // namespace

void make_segment(const Knot& from, const Knot& to, Segment* segment) {
  const uint8_t ticks = static_cast<uint8_t>(to.tick - from.tick);
  const DivideByTicks by_h(ticks);
  segment->start = from.tick;
  segment->ticks = ticks;
  for (uint8_t j = 0; j < JOINTS; ++j) {
    // With m the mean slope: p(k) = p0 + v0 k + (3 m - 2 v0 - v1)/h k^2 + (v0 + v1 - 2 m)/h^2 k^3.
    const int32_t mean = by_h.fine(to.position[j] - from.position[j]);
    const int32_t v0 = from.velocity[j];
    const int32_t v1 = to.velocity[j];
    const int32_t square = by_h(3 * mean - 2 * v0 - v1);
    const int32_t cube = by_h(by_h(v0 + v1 - 2 * mean));
    Axis& axis = segment->axes[j];
    axis.position = from.position[j];
    axis.fraction = 0;
    axis.velocity = v0 + square + cube;
    axis.acceleration = 2 * square + 6 * cube;
    axis.jerk = 6 * cube;
  }
}
