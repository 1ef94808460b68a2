// SPDX-License-Identifier: Apache-2.0
#include "arm_file.h"

#include <cmath>
#include <map>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace {

std::vector<double> numbers(const std::string& key, const std::string& text) {
  std::vector<double> values;
  std::stringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) {
    size_t used = 0;
    double value = NAN;
    try {
      value = std::stod(item, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != item.size() || !std::isfinite(value)) {
      throw std::invalid_argument("arm file: " + key + "=" + text + " is not a list of finite numbers");
    }
    values.push_back(value);
  }
  return values;
}

}  // namespace

void ArmDescription::read(const std::string& text) {
  const std::map<std::string, double*> scalars = {
      {"base_height", &base_height},
      {"upper_arm", &upper_arm},
      {"lateral_offset", &lateral_offset},
      {"forearm", &forearm},
      {"upper_arm_mass", &upper_arm_mass},
      {"forearm_mass", &forearm_mass},
      {"tool_mass", &tool_mass},
      {"payload", &payload},
      {"turret_inertia", &turret_inertia},
      {"supply_voltage", &supply_voltage},
      {"supply_resistance", &supply_resistance},
  };
  const std::map<std::string, double*> triples = {
      {"lower", lower},
      {"upper", upper},
      {"counts_per_revolution", counts_per_revolution},
      {"sign", sign},
      {"home_direction", home_direction},
      {"home_switch", home_switch},
  };
  bool has_switches = false;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const size_t equals = line.find('=');
    if (line.empty() || line[0] == '#' || equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals);
    const auto scalar = scalars.find(key);
    const auto triple = triples.find(key);
    if (scalar == scalars.end() && triple == triples.end()) continue;
    const std::vector<double> values = numbers(key, line.substr(equals + 1));
    const size_t wanted = triple != triples.end() ? 3 : 1;
    if (values.size() != wanted) {
      throw std::invalid_argument("arm file: " + line + " has " + std::to_string(values.size()) + " values; give " +
                                  std::to_string(wanted));
    }
    for (size_t i = 0; i < wanted; ++i) (wanted == 3 ? triple->second : scalar->second)[i] = values[i];
    has_switches = has_switches || key == "home_switch";
  }
  for (int j = 0; j < 3 && !has_switches; ++j) home_switch[j] = home_direction[j] > 0 ? upper[j] : lower[j];
}
