// SPDX-License-Identifier: Apache-2.0
// The emulated board in virtual time for other languages; also the pieces of the core that vectors are compared on.
#include <cstring>

#include "../protocol/repack.h"
#include "emulated_board.h"

// What emulator_observe writes: SI units.
struct Observation {
  double time;
  double position[3];
  double velocity[3];
  double drive[3];
  double current[3];
  int32_t mode;
  int32_t fault;
  int32_t fault_joint;
  int32_t known;
  int32_t gripper_pulse_us;
  int32_t powered;
};

extern "C" {

EmulatedBoard* emulator_create(const char* arm_text, const double* start, int homed) {
  ArmDescription arm;
  try {
    arm.read(arm_text);
  } catch (const std::exception&) {
    return nullptr;
  }
  return new EmulatedBoard(arm, {{start[0], start[1], start[2]}}, homed != 0);
}

void emulator_destroy(EmulatedBoard* board) { delete board; }

void emulator_write(EmulatedBoard* board, const uint8_t* bytes, size_t count) { board->write(bytes, count); }

size_t emulator_read(EmulatedBoard* board, uint8_t* bytes, size_t most) { return board->read(bytes, most); }

void emulator_advance(EmulatedBoard* board, uint32_t ms) {
  for (uint32_t i = 0; i < ms; ++i) board->tick();
}

// 1 when the command was understood.
int emulator_command(EmulatedBoard* board, const char* text) { return board->command(text).empty() ? 1 : 0; }

void emulator_observe(const EmulatedBoard* board, Observation* out) {
  const Snapshot now = board->snapshot();
  out->time = board->time();
  for (int j = 0; j < 3; ++j) {
    out->position[j] = board->plant().position(j);
    out->velocity[j] = board->plant().velocity(j);
    out->drive[j] = board->drive()[static_cast<size_t>(j)];
    out->current[j] = board->plant().current(j);
  }
  out->mode = now.mode;
  out->fault = now.fault;
  out->fault_joint = now.fault_joint;
  out->known = board->known();
  out->gripper_pulse_us = board->gripper_pulse_us();
  out->powered = now.powered;
}

// Encodes a frame; returns its length.
int codec_encode(uint8_t type, uint8_t sequence, const uint8_t* payload, uint8_t bytes, uint8_t* out) {
  return encode_frame(type, sequence, payload, bytes, out);
}

// Decodes one frame, unpacks and packs its message, and encodes it again; returns its length, -1 when invalid.
int codec_round_trip(const uint8_t* frame, size_t count, uint8_t* out) {
  FrameDecoder decoder;
  bool complete = false;
  for (size_t i = 0; i < count; ++i) complete = decoder.feed(frame[i]);
  if (!complete) return -1;
  uint8_t payload[MAX_PAYLOAD_BYTES];
  bool valid = false;
  const int size = repack(decoder.type(), decoder.payload(), payload, &valid);
  if (size != decoder.payload_bytes() || !valid) return -1;
  return encode_frame(decoder.type(), decoder.sequence(), payload, static_cast<uint8_t>(size), out);
}

}  // extern "C"
