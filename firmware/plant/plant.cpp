// SPDX-License-Identifier: Apache-2.0
#include "plant.h"

#include <algorithm>
#include <cmath>

namespace {

// Pololu 37D gear motor 131:1 with 64-count encoder (item 4756): 12 V, 76 rpm and 0.2 A without load, 5.5 A at stall.
const double WINDING = 12.0 / 5.5;   // ohm
const double MOTOR_CONSTANT = 1.45;  // V s/rad and N m/A, at the joint
const double ROTOR_INERTIA = 0.06;   // kg m^2, at the joint
const double COULOMB = 0.5;          // N m, friction of the gears without load
const double LOAD_FRICTION = 0.35;   // of the torque through the gears: they are 74 % efficient
const double GRAVITY = 9.81;
const double STOP_MARGIN = 0.15;         // rad, from a limit to the hard stop
const double SWITCH_HYSTERESIS = 0.003;  // rad
const double LARGEST_STEP = 0.0005;      // s

double clip(double value, double bound) { return std::min(std::max(value, -bound), bound); }

}  // namespace

Plant::Plant(const ArmDescription& arm, const double start[3]) : arm_(arm) {
  for (int j = 0; j < 3; ++j) q_[j] = start_[j] = start[j];
  const double off[3] = {0, 0, 0};
  advance(0.0, off);
}

// Uniform rods in the shoulder's vertical plane, a point mass at the tool, and the turn of it all about the base axis.
// torque: what gravity and motion take; load: the part of it that gravity makes.
void Plant::torques(double torque[3], double load[3], double inertia[3][3]) const {
  const double l1 = arm_.upper_arm, l2 = arm_.forearm, d = arm_.lateral_offset;
  const double m1 = arm_.upper_arm_mass, m2 = arm_.forearm_mass, mt = arm_.tool_mass + arm_.payload;
  const double c1 = std::cos(q_[1]), s1 = std::sin(q_[1]), c2 = std::cos(q_[2]), s2 = std::sin(q_[2]);
  const double c12 = c1 * c2 - s1 * s2, s12 = s1 * c2 + c1 * s2;
  const double a = m1 * l1 * l1 / 3 + (m2 + mt) * l1 * l1, b = (m2 + 2 * mt) * l1 * l2, c = (m2 / 3 + mt) * l2 * l2;
  const double yaw = a * c1 * c1 + b * c1 * c12 + c * c12 * c12 + (m2 + mt) * d * d + arm_.turret_inertia;
  const double yaw_by_1 = -2 * a * c1 * s1 - b * (s1 * c12 + c1 * s12) - 2 * c * c12 * s12;
  const double yaw_by_2 = -b * c1 * s12 - 2 * c * c12 * s12;
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) inertia[i][k] = i == k ? ROTOR_INERTIA : 0.0;
  }
  inertia[0][0] += yaw;
  inertia[1][1] += a + c + b * c2;
  inertia[1][2] += c + b * c2 / 2;
  inertia[2][1] += c + b * c2 / 2;
  inertia[2][2] += c;
  const double coriolis = -b / 2 * s2;
  load[0] = 0;
  load[2] = (m2 / 2 + mt) * GRAVITY * l2 * c12;
  load[1] = (m1 / 2 + m2 + mt) * GRAVITY * l1 * c1 + load[2];
  torque[0] = (yaw_by_1 * v_[1] + yaw_by_2 * v_[2]) * v_[0];
  torque[1] = load[1] + coriolis * (2 * v_[1] * v_[2] + v_[2] * v_[2]) - yaw_by_1 * v_[0] * v_[0] / 2;
  torque[2] = load[2] - coriolis * v_[1] * v_[1] - yaw_by_2 * v_[0] * v_[0] / 2;
}

void Plant::advance(double dt, const double drive[3]) {
  const int steps = std::max(1, static_cast<int>(std::ceil(dt / LARGEST_STEP - 1e-9)));
  const double h = dt / steps;
  for (int step = 0; step < steps; ++step) {
    double taken[3], load[3], m[3][3], net[3];
    torques(taken, load, m);
    double total = 0;
    for (int j = 0; j < 3; ++j) total += std::abs(current_[j]);
    const double supply = std::max(0.0, arm_.supply_voltage - arm_.supply_resistance * total);
    for (int j = 0; j < 3; ++j) {
      // a bridge that is off shorts the winding: the motor brakes
      current_[j] = (supply * clip(drive[j] * arm_.sign[j], 1.0) - MOTOR_CONSTANT * v_[j]) / WINDING;
      net[j] = MOTOR_CONSTANT * current_[j] - taken[j];
    }
    const double determinant = m[1][1] * m[2][2] - m[1][2] * m[2][1];
    const double acceleration[3] = {net[0] / m[0][0], (m[2][2] * net[1] - m[1][2] * net[2]) / determinant,
                                    (m[1][1] * net[2] - m[2][1] * net[1]) / determinant};
    for (int j = 0; j < 3; ++j) {
      // Friction takes speed until there is none left, so that a joint can stick.
      const double friction = h * (COULOMB + LOAD_FRICTION * std::abs(load[j])) / m[j][j];
      double v = v_[j] + h * acceleration[j];
      v = v > friction ? v - friction : v < -friction ? v + friction : 0.0;
      if (stuck_[j]) v = 0;
      double q = q_[j] + h * v;
      const double low = arm_.lower[j] - STOP_MARGIN, high = arm_.upper[j] + STOP_MARGIN;
      if (q < low || q > high) {
        q = std::min(std::max(q, low), high);
        v = 0;
      }
      q_[j] = q;
      v_[j] = v;
    }
  }
  for (int j = 0; j < 3; ++j) {
    const double beyond = (q_[j] - arm_.home_switch[j]) * arm_.home_direction[j];
    closed_[j] = arm_.home_direction[j] != 0 && !dead_[j] && beyond > (closed_[j] ? -SWITCH_HYSTERESIS : 0.0);
  }
}

int64_t Plant::counts(int j) const {
  return static_cast<int64_t>(
      std::floor((q_[j] - start_[j]) * arm_.sign[j] * arm_.counts_per_revolution[j] / (2 * M_PI)));
}
