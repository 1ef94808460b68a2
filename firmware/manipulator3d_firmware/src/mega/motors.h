// SPDX-License-Identifier: Apache-2.0
// Motor drivers on timer 4 at 20 kHz, gripper servo on timer 5: both without interrupts.
#pragma once

#include <stdint.h>

namespace motors {

void start();
// Drives of -DRIVE_TOP to DRIVE_TOP; 0 shorts the motor.
void drive(const int16_t* drives);
// Width of the servo pulse in us; 0 gives none.
void servo(uint16_t pulse_us);

}  // namespace motors
