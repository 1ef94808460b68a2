// SPDX-License-Identifier: Apache-2.0
// The Arduino IDE compiles for size, which takes longer.
#pragma GCC optimize("O2")

#include "mega_board.h"

#include <avr/eeprom.h>
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/wdt.h>

#include "../board_pins.h"
#include "../core/board.h"
#include "../core/interrupt_lock.h"
#include "encoders.h"
#include "motors.h"
#include "serial_line.h"

using namespace messages;

namespace {

const uint16_t CONTROL_TOP = 1999;  // 1 ms at 2 MHz

class Eeprom : public Memory {
 public:
  uint8_t read(uint16_t address) override { return eeprom_read_byte(reinterpret_cast<const uint8_t*>(address)); }
  bool ready() override { return eeprom_is_ready(); }
  void write(uint16_t address, uint8_t byte) override { eeprom_write_byte(reinterpret_cast<uint8_t*>(address), byte); }
};

uint8_t reset_flags __attribute__((section(".noinit")));

uint8_t reset_cause() {
  if (reset_flags & _BV(WDRF)) return ResetCause::WATCHDOG;
  if (reset_flags & _BV(BORF)) return ResetCause::BROWN_OUT;
  if (reset_flags & _BV(PORF)) return ResetCause::POWER_ON;
  if (reset_flags & _BV(EXTRF)) return ResetCause::EXTERNAL;
  return ResetCause::UNKNOWN;  // a boot loader has cleared them
}

SerialLine line;
Eeprom eeprom;
Board board(line, eeprom, reset_cause());
volatile bool stepping;
volatile uint8_t missed_steps;
volatile uint16_t worst_step;  // half microseconds
uint32_t fed_us;

}  // namespace

// After a watchdog reset the watchdog still runs, with its shortest time.
extern "C" void remember_reset_flags() __attribute__((naked, used, section(".init3")));
extern "C" void remember_reset_flags() {
  reset_flags = MCUSR;
  MCUSR = 0;
  wdt_disable();
}

namespace interrupt_lock {

volatile uint8_t depth;
volatile bool step_is_due;

}  // namespace interrupt_lock

namespace {

// One control step; encoders and the serial line may interrupt it, another step may not.
inline void make_step() {
  stepping = true;
  sei();
  Inputs inputs;
  encoders::collect(&inputs);
  const uint8_t pins = INPUTS_PIN;
  inputs.home_switches = static_cast<uint8_t>(~pins & HOME_SWITCH_BITS);
  inputs.emergency_stop_open = (pins & EMERGENCY_STOP_BIT) != 0;
  motors::drive(board.control().step(inputs));
  for (; missed_steps > 0; --missed_steps) board.control().overrun();
  cli();
  const uint16_t took = TCNT1;
  if (took > worst_step) worst_step = took;
  stepping = false;
}

}  // namespace

void interrupt_lock::make_due_step() {
  cli();
  step_is_due = false;
  make_step();
  sei();
}

ISR(TIMER1_COMPA_vect) {
  if (stepping || (interrupt_lock::depth > 0 && interrupt_lock::step_is_due)) {
    ++missed_steps;
  } else if (interrupt_lock::depth > 0) {
    interrupt_lock::step_is_due = true;
  } else {
    make_step();
  }
}

namespace mega_board {

void start() {
  TIMSK0 = 0;  // the Arduino core's clock is not used
  INPUTS_PORT |= INPUTS_BITS;
  motors::start();
  line.start();
  board.start();
  encoders::start();
  TCCR1A = 0;
  TCCR1B = _BV(WGM12) | _BV(CS11);
  OCR1A = CONTROL_TOP;
  TCNT1 = 0;
  TIFR1 = _BV(OCF1A);
  TIMSK1 = _BV(OCIE1A);
  sei();
  wdt_enable(WDTO_250MS);
}

// The board's clock: the control ticks, and the timer within the present one.
static uint32_t now_us() {
  InterruptLock lock;
  uint16_t part = TCNT1;
  uint32_t time = board.control().time_us();
  if (interrupt_lock::step_is_due) {
    part = TCNT1;
    time += TICK_US;
  }
  return time + part / 2;
}

void poll() {
  const uint32_t now = now_us();
  uint8_t byte;
  while (line.receive(&byte)) board.receive(byte, now_us());
  Panel panel;
  panel.now_us = now;
  {
    InterruptLock lock;
    panel.loop_worst_us = worst_step / 2;
  }
  panel.bytes_lost = line.lost();
  const uint8_t pins = INPUTS_PIN;
  panel.button_pressed = (pins & BUTTON_BIT) == 0;
  panel.object_felt = (pins & GRASP_BIT) == 0;
  board.poll(panel);
  motors::servo(board.gripper_pulse_us());
  // The watchdog is fed only while the control interrupt runs, too.
  if (now - fed_us >= TICK_US) {
    fed_us = now;
    wdt_reset();
  }
}

}  // namespace mega_board
