// SPDX-License-Identifier: GPL-3.0-or-later
#include "avr_board.h"

#include <simavr/avr_eeprom.h>
#include <simavr/avr_extint.h>
#include <simavr/avr_ioport.h>
#include <simavr/avr_uart.h>
#include <simavr/sim_elf.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace {

const uint64_t FREQUENCY = 16000000;
const uint64_t PLANT_PERIOD = 2000;                    // cycles: 125 us
const uint64_t BYTE_PERIOD = FREQUENCY * 10 / 115200;  // of the host's line
const uint64_t UART_PERIOD = 1360;                     // of the board's: 117647 baud
const uint64_t RUN_LIMIT = 64;                         // cycles between two looks at the events
const uint64_t GLITCH_PERIOD = 160;                    // cycles between two changes of a disturbed line: 10 us
const uint64_t ILLEGAL_PERIOD = 16000;                 // the same of both lines: 1 ms
const int RECEIVER_DEPTH = 2;                          // bytes the USART keeps; simavr keeps 64

// Registers of the ATmega2560, as data addresses.
const uint16_t PORTA = 0x22, OCR4A = 0xA8, OCR4B = 0xAA, OCR4C = 0xAC, ICR4 = 0xA6, TCCR5A = 0x120, OCR5A = 0x128;
const uint16_t UCSR0B = 0xC1;
const uint8_t RXEN0 = 0x10;
const int RX_VECTOR = 25;

void (*reset_of_core)(avr_t*) = nullptr;

void silent(avr_t*, const int, const char*, va_list) {}

}  // namespace

AvrBoard::AvrBoard(const std::string& elf, const ArmDescription& arm, const std::array<double, 3>& start)
    : plant_(arm, start.data()) {
  avr_global_logger_set(silent);
  elf_firmware_t firmware;
  std::memset(&firmware, 0, sizeof firmware);
  if (elf_read_firmware(elf.c_str(), &firmware) != 0) throw std::runtime_error("cannot read " + elf);
  avr_ = avr_make_mcu_by_name("atmega2560");
  if (avr_ == nullptr) throw std::runtime_error("this simavr has no atmega2560");
  firmware.frequency = FREQUENCY;
  avr_init(avr_);
  avr_load_firmware(avr_, &firmware);
  avr_->run_cycle_limit = RUN_LIMIT;
  uint32_t flags = 0;
  avr_ioctl(avr_, AVR_IOCTL_UART_GET_FLAGS('0'), &flags);
  flags &= ~static_cast<uint32_t>(AVR_UART_FLAG_STDIO | AVR_UART_FLAG_POLL_SLEEP);
  avr_ioctl(avr_, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
  avr_irq_register_notify(avr_io_getirq(avr_, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT), transmitted, this);
  for (int vector = 1; vector < 58; ++vector) {
    avr_irq_t* irq = avr_get_interrupt_irq(avr_, static_cast<uint8_t>(vector));
    watches_[static_cast<size_t>(vector)] = {this, vector};
    if (irq != nullptr) {
      avr_irq_register_notify(irq + AVR_INT_IRQ_RUNNING, interrupted, &watches_[static_cast<size_t>(vector)]);
    }
  }
  for (avr_io_t* io = avr_->io_port; io != nullptr; io = io->next) {
    avr_uart_t* const uart = reinterpret_cast<avr_uart_t*>(io);
    if (io->kind != nullptr && std::strcmp(io->kind, "uart") == 0 && uart->name == '0') uart_ = uart;
  }
  if (uart_ == nullptr) throw std::runtime_error("this simavr's atmega2560 has no UART 0");
  avr_->custom.data = this;
  reset_of_core = avr_->reset;
  avr_->reset = after_reset;
  wire();
}

void AvrBoard::after_reset(avr_t* avr) {
  if (reset_of_core != nullptr) reset_of_core(avr);
  static_cast<AvrBoard*>(avr->custom.data)->was_reset_ = true;
}

AvrBoard::~AvrBoard() { avr_terminate(avr_); }

void AvrBoard::transmitted(avr_irq_t*, uint32_t value, void* board) {
  static_cast<AvrBoard*>(board)->to_host_.push_back(static_cast<uint8_t>(value));
}

void AvrBoard::interrupted(avr_irq_t*, uint32_t value, void* watch) {
  AvrBoard& self = *static_cast<Watch*>(watch)->board;
  const int vector = static_cast<Watch*>(watch)->vector;
  if (value != 0) {
    if (vector == RX_VECTOR && self.unread_ > 0) --self.unread_;
    if (self.depth_ == 16) return;
    self.began_[static_cast<size_t>(self.depth_)] = self.avr_->cycle;
    self.nested_[static_cast<size_t>(self.depth_)] = 0;
    ++self.depth_;
    return;
  }
  if (self.depth_ == 0) return;
  --self.depth_;
  const size_t at = static_cast<size_t>(self.depth_);
  const uint64_t all = self.avr_->cycle - self.began_[at];
  const uint32_t own = static_cast<uint32_t>(all - self.nested_[at]);
  if (at > 0) self.nested_[at - 1] += all;
  self.all_interrupts_ += own;
  InterruptCost& cost = self.costs_[static_cast<size_t>(vector)];
  ++cost.count;
  cost.total += own;
  cost.least = std::min(cost.least, own);
  cost.most = std::max(cost.most, own);
}

// At the start and after a reset, which forgets the levels of the pins.
void AvrBoard::wire() {
  for (uint8_t i = 0; i < 6; ++i) avr_extint_set_strict_lvl_trig(avr_, i, 0);
  for (int j = 0; j < 3; ++j) set_encoder(j);
  inputs_ = 0;
  set_inputs();
  depth_ = 0;
  unread_ = 0;
}

void AvrBoard::set_pins(char port, uint8_t mask, uint8_t value) {
  // simavr raises the pins of a port anew when it is written, from these external levels.
  avr_ioport_external_t external;
  std::memset(&external, 0, sizeof external);
  external.name = static_cast<unsigned long>(port);
  external.mask = mask;
  external.value = value;
  avr_ioctl(avr_, AVR_IOCTL_IOPORT_SET_EXTERNAL(port), &external);
  for (int bit = 0; bit < 8; ++bit) {
    if ((mask & (1 << bit)) != 0) {
      avr_raise_irq(avr_io_getirq(avr_, AVR_IOCTL_IOPORT_GETIRQ(port), bit), (value >> bit) & 1);
    }
  }
}

void AvrBoard::set_encoder(int) {
  static const uint8_t levels[4] = {0, 1, 3, 2};
  uint8_t lines[3];
  for (size_t j = 0; j < 3; ++j) lines[j] = levels[static_cast<uint64_t>(made_[j]) & 3] ^ disturbed_[j];
  set_pins('D', 0x0F, static_cast<uint8_t>(lines[0] | (lines[1] << 2)));
  set_pins('E', 0x30, static_cast<uint8_t>(lines[2] << 4));
}

void AvrBoard::set_inputs() {
  uint8_t levels = 0;
  for (int j = 0; j < 3; ++j) {
    if (!plant_.switch_closed(j)) levels = static_cast<uint8_t>(levels | (1 << j));
  }
  if (stop_open_) levels = static_cast<uint8_t>(levels | 0x08);
  if (!button_) levels = static_cast<uint8_t>(levels | 0x10);
  if (!grasp_) levels = static_cast<uint8_t>(levels | 0x20);
  // bit 7 tells that it has been set at all
  if (inputs_ == (levels | 0x80)) return;
  inputs_ = static_cast<uint8_t>(levels | 0x80);
  set_pins('C', 0x3F, levels);
}

uint16_t AvrBoard::register16(uint16_t address) const {
  return static_cast<uint16_t>(avr_->data[address] | (avr_->data[address + 1] << 8));
}

double AvrBoard::drive(int joint) const {
  static const uint16_t compare[3] = {OCR4A, OCR4B, OCR4C};
  const uint8_t direction = static_cast<uint8_t>((avr_->data[PORTA] >> (2 * joint)) & 3);
  const double duty = static_cast<double>(register16(compare[joint]) + 1) / (register16(ICR4) + 1);
  return direction == 1 ? duty : direction == 2 ? -duty : 0.0;
}

double AvrBoard::servo_pulse_us() const {
  return (avr_->data[TCCR5A] & 0xC0) == 0x80 ? (register16(OCR5A) + 1) / 2.0 : 0.0;
}

double AvrBoard::time() const { return static_cast<double>(target_) / FREQUENCY; }

void AvrBoard::step_plant() {
  // simavr counts eleven bits a byte
  uart_->cycles_per_byte = UART_PERIOD;
  const double drives[3] = {drive(0), drive(1), drive(2)};
  plant_.advance(static_cast<double>(PLANT_PERIOD) / FREQUENCY, drives);
  set_inputs();
  if (spinning_) return;
  for (size_t j = 0; j < 3; ++j) {
    Edges& edges = edges_[j];
    const int64_t due = plant_.counts(static_cast<int>(j)) - made_[j];
    edges.left = static_cast<int>(due < 0 ? -due : due);
    edges.direction = due < 0 ? -1 : 1;
    edges.due = next_plant_;
    edges.period = edges.left > 0 ? PLANT_PERIOD / static_cast<uint64_t>(edges.left) : PLANT_PERIOD;
  }
}

void AvrBoard::make_edges() {
  for (size_t j = 0; j < 3; ++j) {
    Edges& edges = edges_[j];
    if ((edges.left == 0 && !edges.endless) || edges.due > avr_->cycle) continue;
    made_[j] += edges.direction;
    edges.due += edges.period;
    if (edges.left > 0) --edges.left;
    set_encoder(static_cast<int>(j));
  }
}

void AvrBoard::disturb() {
  for (size_t j = 0; j < 3; ++j) {
    Disturbance& one = disturbances_[j];
    if (one.left == 0 || one.due > avr_->cycle) continue;
    --one.left;
    one.due += one.period;
    disturbed_[j] ^= one.lines;
    set_encoder(static_cast<int>(j));
  }
}

void AvrBoard::deliver_byte() {
  next_byte_ = avr_->cycle + BYTE_PERIOD;
  const uint8_t byte = from_host_.front();
  from_host_.pop_front();
  // What a receiver gets that is full, or not yet on, is lost, as on the chip.
  if (unread_ > RECEIVER_DEPTH || (avr_->data[UCSR0B] & RXEN0) == 0) return;
  ++unread_;
  avr_raise_irq(avr_io_getirq(avr_, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT), byte);
}

uint64_t AvrBoard::next_event(uint64_t end) const {
  uint64_t next = std::min(end, next_plant_);
  if (!from_host_.empty()) next = std::min(next, next_byte_);
  for (const Edges& edges : edges_) {
    if (edges.left > 0 || edges.endless) next = std::min(next, edges.due);
  }
  for (const Disturbance& one : disturbances_) {
    if (one.left > 0) next = std::min(next, one.due);
  }
  return next;
}

void AvrBoard::advance_us(uint32_t us) {
  target_ += us * (FREQUENCY / 1000000);
  while (avr_->cycle < target_) {
    const uint64_t until = next_event(target_);
    while (avr_->cycle < until) {
      avr_->run_cycle_limit = watched_ != 0 ? 1 : std::min<uint64_t>(RUN_LIMIT, until - avr_->cycle);
      const uint64_t before = avr_->cycle;
      avr_run(avr_);
      if (watched_ != 0) look_at_function();
      if (avr_->cycle < before || was_reset_) break;
    }
    if (was_reset_) {
      was_reset_ = false;
      wire();
    }
    if (avr_->cycle >= next_plant_) {
      step_plant();
      next_plant_ += PLANT_PERIOD;
    }
    make_edges();
    disturb();
    if (!from_host_.empty() && avr_->cycle >= next_byte_) deliver_byte();
  }
}

void AvrBoard::write(const uint8_t* bytes, size_t count) { from_host_.insert(from_host_.end(), bytes, bytes + count); }

size_t AvrBoard::read(uint8_t* bytes, size_t most) {
  size_t count = 0;
  for (; count < most && !to_host_.empty(); ++count) {
    bytes[count] = to_host_.front();
    to_host_.pop_front();
  }
  return count;
}

void AvrBoard::spin(const std::array<double, 3>& rates) {
  spinning_ = true;
  for (size_t j = 0; j < 3; ++j) {
    Edges& edges = edges_[j];
    edges = Edges();
    edges.endless = rates[j] != 0;
    edges.direction = rates[j] < 0 ? -1 : 1;
    if (edges.endless) edges.period = static_cast<uint64_t>(FREQUENCY / std::abs(rates[j]));
    edges.due = avr_->cycle + 1 + 7 * j;
  }
}

bool AvrBoard::command(const std::string& text) {
  std::stringstream words(text);
  std::string verb;
  double value = 0;
  int joint = 0;
  words >> verb;
  if (verb == "reset") {
    avr_reset(avr_);
    return true;
  }
  const bool disturbs = verb == "glitch" || verb == "illegal";
  if (disturbs || verb == "stuck" || verb == "dead_switch") words >> joint;
  words >> value;
  if (words.fail() || joint < 0 || joint > 2) return false;
  const bool on = value != 0;
  if (disturbs) {
    if (value < 0) return false;
    Disturbance& one = disturbances_[static_cast<size_t>(joint)];
    one.lines = verb == "glitch" ? 1 : 3;
    // a pulse is two changes
    one.left = static_cast<uint64_t>(value) * (verb == "glitch" ? 2 : 1);
    one.period = verb == "glitch" ? GLITCH_PERIOD : ILLEGAL_PERIOD;
    one.due = avr_->cycle + 1;
    return true;
  }
  if (verb == "hang") {
    // The program stands still with interrupts off, at an endless loop of the binary.
    avr_->sreg[S_I] = 0;
    avr_->pc = static_cast<avr_flashaddr_t>(value);
    return true;
  }
  if (verb == "stuck")
    plant_.set_stuck(joint, on);
  else if (verb == "dead_switch")
    plant_.set_dead_switch(joint, on);
  else if (verb == "payload")
    plant_.set_payload(value);
  else if (verb == "button")
    button_ = on;
  else if (verb == "grasp")
    grasp_ = on;
  else if (verb == "emergency_stop")
    stop_open_ = on;
  else
    return false;
  return true;
}

void AvrBoard::watch_function(uint32_t address) {
  watched_ = address;
  function_stack_ = 0;
  function_cost_ = InterruptCost();
}

void AvrBoard::look_at_function() {
  const uint16_t stack = register16(R_SPL);
  if (function_stack_ == 0) {
    if (avr_->pc != watched_) return;
    function_stack_ = stack;
    function_began_ = avr_->cycle;
    function_interrupts_ = all_interrupts_;
  } else if (stack > function_stack_) {
    // its return has taken the return address off the stack
    const uint64_t interrupts = all_interrupts_ - function_interrupts_;
    const uint32_t own = static_cast<uint32_t>(avr_->cycle - function_began_ - interrupts);
    function_stack_ = 0;
    ++function_cost_.count;
    function_cost_.total += own;
    function_cost_.least = std::min(function_cost_.least, own);
    function_cost_.most = std::max(function_cost_.most, own);
  }
}

void AvrBoard::clear_costs() { costs_.fill(InterruptCost()); }
