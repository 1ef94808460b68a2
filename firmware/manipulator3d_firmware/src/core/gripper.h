// SPDX-License-Identifier: Apache-2.0
// The gripper: commanded over the line or by the push button, which works without a host.
#pragma once

#include <stdint.h>

class Gripper {
 public:
  void configure(uint16_t open_us, uint16_t closed_us) {
    open_us_ = open_us;
    closed_us_ = closed_us;
  }
  void set(bool closed) {
    closed_ = closed;
    commanded_ = true;
  }
  // Call once a tick with the raw state of the button.
  void button(bool pressed) {
    if (pressed == pressed_) {
      ticks_ = 0;
    } else if (++ticks_ >= DEBOUNCE_TICKS) {
      ticks_ = 0;
      pressed_ = pressed;
      if (pressed) set(!closed_);
    }
  }
  bool closed() const { return closed_; }
  bool pressed() const { return pressed_; }
  // Width of the servo pulse in us; 0, no pulse, before the first command.
  uint16_t pulse_us() const { return !commanded_ ? 0 : closed_ ? closed_us_ : open_us_; }

 private:
  static const uint8_t DEBOUNCE_TICKS = 20;
  uint16_t open_us_ = 1000;
  uint16_t closed_us_ = 2000;
  uint8_t ticks_ = 0;
  bool closed_ = false;
  bool commanded_ = false;
  bool pressed_ = false;
};
