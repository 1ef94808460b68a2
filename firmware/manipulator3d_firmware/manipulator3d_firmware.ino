// SPDX-License-Identifier: Apache-2.0
// Firmware of the arm, for an Arduino Mega 2560. Open this file in the Arduino IDE, or run `make -C firmware`.
// Pins are in src/board_pins.h; what the board says and hears is in docs/protocol.md.
#include "src/mega/mega_board.h"

void setup() { mega_board::start(); }

void loop() { mega_board::poll(); }
