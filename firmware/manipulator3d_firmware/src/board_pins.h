// SPDX-License-Identifier: Apache-2.0
// Where everything is wired on the Arduino Mega 2560; no other file knows a pin. Numbers in comments are the board's.
#pragma once

#include <avr/io.h>

// Encoders, lines A and B, with pull-ups. Each line has an external interrupt of its own.
//   joint 0: pins 21 (INT0), 20 (INT1); joint 1: pins 19 (INT2), 18 (INT3); joint 2: pins 2 (INT4), 3 (INT5)
#define ENCODER_0_PIN PIND  // bits 0 and 1
#define ENCODER_1_PIN PIND  // bits 2 and 3
#define ENCODER_2_PIN PINE  // bits 4 and 5
#define ENCODER_PULL_UPS()                              \
  do {                                                  \
    PORTD |= _BV(PD0) | _BV(PD1) | _BV(PD2) | _BV(PD3); \
    PORTE |= _BV(PE4) | _BV(PE5);                       \
  } while (0)

// Motor drivers with inputs INA, INB and PWM that short the motor while PWM is low, such as the VNH5019.
//   PWM: pins 6, 7, 8 (timer 4, channels A, B, C); INA, INB: pins 22, 23 of joint 0, 24, 25 of joint 1, 26, 27 of joint
//   2
#define MOTOR_PWM_DDR DDRH
#define MOTOR_PWM_BITS (_BV(PH3) | _BV(PH4) | _BV(PH5))
#define MOTOR_DIRECTION_DDR DDRA
#define MOTOR_DIRECTION_PORT PORTA
#define MOTOR_DIRECTION_BITS 0x3F

// Gripper servo: pin 46 (timer 5, channel A).
#define SERVO_DDR DDRL
#define SERVO_BIT _BV(PL3)

// Inputs with pull-ups; a closed contact pulls to ground.
//   pins 37, 36, 35: home switches of joints 0, 1, 2; pin 34: emergency stop, normally closed;
//   pin 33: push button of the gripper; pin 32: grasp sensor
#define INPUTS_PIN PINC
#define INPUTS_PORT PORTC
#define INPUTS_BITS 0x3F
#define HOME_SWITCH_BITS 0x07
#define EMERGENCY_STOP_BIT _BV(PC3)
#define BUTTON_BIT _BV(PC4)
#define GRASP_BIT _BV(PC5)
