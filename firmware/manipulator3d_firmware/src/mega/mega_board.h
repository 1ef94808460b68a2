// SPDX-License-Identifier: Apache-2.0
// The core on the Arduino Mega 2560: timers, interrupts, inputs, EEPROM and watchdog.
#pragma once

namespace mega_board {

void start();
void poll();

}  // namespace mega_board
