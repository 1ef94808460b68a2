// SPDX-License-Identifier: Apache-2.0
// The Arduino IDE compiles for size, which takes longer.
#pragma GCC optimize("O2")

#include "motors.h"

#include "../board_pins.h"
#include "../core/joint_settings.h"

namespace motors {
namespace {

const uint16_t SERVO_TOP = 39999;  // 20 ms at 2 MHz

// The PWM step of a drive and, in the two direction bits, INA forwards and INB backwards.
inline uint16_t compare(int16_t drive, uint8_t bits, uint8_t* direction) {
  if (drive > 0) {
    *direction |= static_cast<uint8_t>(bits & 0x15);
    return static_cast<uint16_t>(drive - 1);
  }
  if (drive < 0) {
    *direction |= static_cast<uint8_t>(bits & 0x2A);
    return static_cast<uint16_t>(-drive - 1);
  }
  return 0;
}

}  // namespace

void start() {
  MOTOR_DIRECTION_PORT &= static_cast<uint8_t>(~MOTOR_DIRECTION_BITS);
  MOTOR_DIRECTION_DDR |= MOTOR_DIRECTION_BITS;
  // Mode 14, fast PWM up to ICR, clear at the compare value, no prescaler.
  TCCR4B = 0;
  ICR4 = DRIVE_TOP - 1;
  OCR4A = OCR4B = OCR4C = 0;
  TCNT4 = 0;
  TCCR4A = _BV(COM4A1) | _BV(COM4B1) | _BV(COM4C1) | _BV(WGM41);
  TCCR4B = _BV(WGM43) | _BV(WGM42) | _BV(CS40);
  MOTOR_PWM_DDR |= MOTOR_PWM_BITS;
  TCCR5B = 0;
  ICR5 = SERVO_TOP;
  TCNT5 = 0;
  TCCR5A = _BV(WGM51);
  TCCR5B = _BV(WGM53) | _BV(WGM52) | _BV(CS51);
  SERVO_DDR |= SERVO_BIT;
}

void drive(const int16_t* drives) {
  uint8_t direction = 0;
  const uint16_t a = compare(drives[0], 0x03, &direction);
  const uint16_t b = compare(drives[1], 0x0C, &direction);
  const uint16_t c = compare(drives[2], 0x30, &direction);
  // A 16-bit register is written by way of one that all timers share, and only this interrupt and servo() write any.
  OCR4A = a;
  OCR4B = b;
  OCR4C = c;
  MOTOR_DIRECTION_PORT = static_cast<uint8_t>((MOTOR_DIRECTION_PORT & ~MOTOR_DIRECTION_BITS) | direction);
}

void servo(uint16_t pulse_us) {
  if (pulse_us == 0) {
    TCCR5A = _BV(WGM51);
    return;
  }
  OCR5A = static_cast<uint16_t>(pulse_us * 2 - 1);
  TCCR5A = _BV(COM5A1) | _BV(WGM51);
}

}  // namespace motors
