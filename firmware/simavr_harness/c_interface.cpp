// SPDX-License-Identifier: GPL-3.0-or-later
// The board's binary for other languages; the functions are those of the emulated board.
#include "avr_board.h"

// As in emulator/c_interface.cpp; what only the firmware knows stays 0.
struct Observation {
  double time;
  double position[3];
  double velocity[3];
  double drive[3];
  double current[3];
  int32_t mode, fault, fault_joint, known, gripper_pulse_us, powered;
};

extern "C" {

AvrBoard* avr_board_create(const char* elf, const char* arm_text, const double* start) {
  try {
    ArmDescription arm;
    arm.read(arm_text);
    return new AvrBoard(elf, arm, {{start[0], start[1], start[2]}});
  } catch (const std::exception&) {
    return nullptr;
  }
}

void avr_board_destroy(AvrBoard* board) { delete board; }

void avr_board_write(AvrBoard* board, const uint8_t* bytes, size_t count) { board->write(bytes, count); }

size_t avr_board_read(AvrBoard* board, uint8_t* bytes, size_t most) { return board->read(bytes, most); }

void avr_board_advance(AvrBoard* board, uint32_t ms) { board->advance_us(ms * 1000); }

void avr_board_advance_us(AvrBoard* board, uint32_t us) { board->advance_us(us); }

int avr_board_command(AvrBoard* board, const char* text) { return board->command(text) ? 1 : 0; }

void avr_board_spin(AvrBoard* board, const double* rates) { board->spin({{rates[0], rates[1], rates[2]}}); }

int64_t avr_board_encoder_counts(const AvrBoard* board, int joint) { return board->encoder_counts(joint); }

void avr_board_observe(const AvrBoard* board, Observation* out) {
  *out = Observation();
  out->time = board->time();
  for (int j = 0; j < 3; ++j) {
    out->position[j] = board->plant().position(j);
    out->velocity[j] = board->plant().velocity(j);
    out->drive[j] = board->drive(j);
    out->current[j] = board->plant().current(j);
  }
  out->gripper_pulse_us = static_cast<int32_t>(board->servo_pulse_us());
}

static void fill(const InterruptCost& cost, uint64_t* out) {
  out[0] = cost.count;
  out[1] = cost.total;
  out[2] = cost.count > 0 ? cost.least : 0;
  out[3] = cost.most;
}

// Interrupts of one vector since the last clear: how many, cycles in all, least and most of one.
void avr_board_cost(const AvrBoard* board, int vector, uint64_t* out) { fill(board->cost(vector), out); }

void avr_board_watch_function(AvrBoard* board, uint32_t address) { board->watch_function(address); }

void avr_board_function_cost(const AvrBoard* board, uint64_t* out) { fill(board->function_cost(), out); }

void avr_board_clear_costs(AvrBoard* board) { board->clear_costs(); }

}  // extern "C"
