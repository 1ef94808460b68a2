// SPDX-License-Identifier: GPL-3.0-or-later
// The board's own binary in simavr, with the plant on its pins. Time passes only in advance().
#pragma once

#include <simavr/avr_uart.h>
#include <simavr/sim_avr.h>

#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "../plant/plant.h"

// What the interrupts of one kind have cost, in cycles, without those that interrupted them.
struct InterruptCost {
  uint64_t count = 0;
  uint64_t total = 0;
  uint32_t least = UINT32_MAX;
  uint32_t most = 0;
};

class AvrBoard {
 public:
  // Throws std::runtime_error when the binary cannot be loaded.
  AvrBoard(const std::string& elf, const ArmDescription& arm, const std::array<double, 3>& start);
  ~AvrBoard();
  AvrBoard(const AvrBoard&) = delete;
  AvrBoard& operator=(const AvrBoard&) = delete;

  void write(const uint8_t* bytes, size_t count);
  size_t read(uint8_t* bytes, size_t most);
  void advance_us(uint32_t us);
  // Faults as of the emulated board: stuck, dead_switch, button, grasp, emergency_stop, payload; also reset, hang
  // ADDRESS, glitch JOINT N (N short pulses on an encoder's line A), and illegal JOINT N (both lines of an encoder
  // change at once, N times).
  bool command(const std::string& text);
  // Lets the encoders turn by themselves at these rates in counts a second, from now on instead of with the plant.
  void spin(const std::array<double, 3>& rates);

  double time() const;
  const Plant& plant() const { return plant_; }
  double drive(int joint) const;
  // Width of the servo pulse in us; 0 for none.
  double servo_pulse_us() const;
  // Counts that the encoders have made since the start.
  int64_t encoder_counts(int joint) const { return made_[static_cast<size_t>(joint)]; }
  const InterruptCost& cost(int vector) const { return costs_[static_cast<size_t>(vector)]; }
  void clear_costs();
  // Counts what a function costs, without the interrupts in it; `address` in bytes of flash, 0 ends that. Slow.
  void watch_function(uint32_t address);
  const InterruptCost& function_cost() const { return function_cost_; }

 private:
  static const int VECTORS = 64;
  struct Edges {
    bool endless = false;
    int left = 0;
    int direction = 1;
    uint64_t due = 0;
    uint64_t period = 1;
  };
  struct Disturbance {
    uint64_t left = 0;  // changes
    uint8_t lines = 0;  // which lines change
    uint64_t due = 0;
    uint64_t period = 1;
  };
  struct Watch {
    AvrBoard* board;
    int vector;
  };

  static void after_reset(avr_t* avr);
  static void transmitted(avr_irq_t*, uint32_t value, void* board);
  static void interrupted(avr_irq_t*, uint32_t value, void* watch);
  void wire();
  void set_pins(char port, uint8_t mask, uint8_t value);
  void set_encoder(int joint);
  void set_inputs();
  void step_plant();
  void look_at_function();
  void make_edges();
  void disturb();
  void deliver_byte();
  uint64_t next_event(uint64_t end) const;
  uint16_t register16(uint16_t address) const;

  avr_t* avr_;
  avr_uart_t* uart_ = nullptr;
  Plant plant_;
  std::deque<uint8_t> from_host_, to_host_;
  std::array<Edges, 3> edges_;
  std::array<Disturbance, 3> disturbances_;
  std::array<uint8_t, 3> disturbed_ = {{0, 0, 0}};  // lines that differ from what the encoder gives
  std::array<int64_t, 3> made_ = {{0, 0, 0}};
  std::array<InterruptCost, VECTORS> costs_;
  std::array<Watch, VECTORS> watches_;
  std::array<uint64_t, 16> began_;   // start of each interrupt under way
  std::array<uint64_t, 16> nested_;  // what has been spent in interrupts of it
  int depth_ = 0;
  uint64_t all_interrupts_ = 0;
  uint32_t watched_ = 0;
  uint16_t function_stack_ = 0;  // stack pointer at its entry; 0 while it does not run
  uint64_t function_began_ = 0, function_interrupts_ = 0;
  InterruptCost function_cost_;
  uint64_t next_plant_ = 0;
  uint64_t next_byte_ = 0;
  uint64_t target_ = 0;
  int unread_ = 0;
  uint8_t inputs_ = 0;
  bool was_reset_ = false;
  bool spinning_ = false;
  bool button_ = false, grasp_ = false, stop_open_ = false;
};
