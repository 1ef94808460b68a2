// SPDX-License-Identifier: Apache-2.0
#include "setpoint_queue.h"

namespace {

int32_t divide(int32_t value, int32_t by) { return (value + (value < 0 ? -by / 2 : by / 2)) / by; }

}  // namespace

void make_segment(const Knot& from, const Knot& to, Segment* segment) {
  const int32_t h = static_cast<int32_t>(to.tick - from.tick);
  segment->start = from.tick;
  segment->ticks = static_cast<uint8_t>(h);
  for (uint8_t j = 0; j < JOINTS; ++j) {
    // With m the mean slope: p(k) = p0 + v0 k + (3 m - 2 v0 - v1)/h k^2 + (v0 + v1 - 2 m)/h^2 k^3.
    const int32_t way = to.position[j] - from.position[j];
    const int32_t quotient = way / h;
    const int32_t mean =
        static_cast<int32_t>(static_cast<uint32_t>(quotient) << 16) + divide((way - quotient * h) * 65536L, h);
    const int32_t v0 = from.velocity[j];
    const int32_t v1 = to.velocity[j];
    const int32_t square = divide(3 * mean - 2 * v0 - v1, h);
    const int32_t cube = divide(v0 + v1 - 2 * mean, h * h);
    Axis& axis = segment->axes[j];
    axis.position = from.position[j];
    axis.fraction = 0;
    axis.velocity = v0 + square + cube;
    axis.acceleration = 2 * square + 6 * cube;
    axis.jerk = 6 * cube;
  }
}
