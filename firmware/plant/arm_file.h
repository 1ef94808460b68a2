// SPDX-License-Identifier: Apache-2.0
// The arm that the plant imitates, read from lines of key=value; three values are separated by commas. SI units.
#pragma once

#include <string>

struct ArmDescription {
  double base_height = 0.150;
  double upper_arm = 0.220;
  double lateral_offset = -0.065;
  double forearm = 0.180;
  double lower[3] = {-2.9, -0.5, -2.6};
  double upper[3] = {2.9, 2.6, 2.6};
  double counts_per_revolution[3] = {8384, 8384, 8384};
  double sign[3] = {1, 1, 1};                  // -1: motor and encoder turn the other way
  double home_direction[3] = {-1, -1, -1};     // where the home switch is; 0 there is none
  double home_switch[3] = {-2.9, -0.5, -2.6};  // where it closes
  double upper_arm_mass = 0.45;
  double forearm_mass = 0.25;
  double tool_mass = 0.05;
  double payload = 0.0;
  double turret_inertia = 0.002;
  double supply_voltage = 12.0;
  double supply_resistance = 0.0;  // ohm; the supply sags under load

  // Reads a text; keys it does not know belong to others. Throws std::invalid_argument for a value that is none.
  void read(const std::string& text);
};
