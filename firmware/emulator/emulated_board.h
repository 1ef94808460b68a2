// SPDX-License-Identifier: Apache-2.0
// The firmware's core wired to the plant, in virtual time, with a serial line that takes as long as a real one.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "../manipulator3d_firmware/src/core/board.h"
#include "../plant/plant.h"

// What can go wrong on one direction of the line.
struct LineFaults {
  double garble = 0, drop = 0, duplicate = 0;          // chance per byte
  int garble_next = 0;                                 // this many bytes for certain
  uint64_t delay = 0;                                  // ms by which each byte comes later; bytes keep their order
  std::deque<std::pair<uint64_t, uint8_t>> under_way;  // delayed bytes and the tick at which each arrives
};

class EmulatedBoard {
 public:
  // homed: the positions are known as soon as the joints are configured, as after SetHere; not again after a reset.
  EmulatedBoard(const ArmDescription& arm, const std::array<double, 3>& start, bool homed);

  // Bytes from the host, to the host.
  void write(const uint8_t* bytes, size_t count);
  size_t read(uint8_t* bytes, size_t most);
  // One millisecond.
  void tick();
  // Injects a fault or an event; returns an error text, empty when it was understood.
  std::string command(const std::string& text);

  double time() const { return static_cast<double>(ticks_) * 1e-3; }
  const Plant& plant() const { return plant_; }
  Snapshot snapshot() const { return board_->control().snapshot(); }
  uint16_t gripper_pulse_us() const { return board_->gripper_pulse_us(); }
  const std::array<double, 3>& drive() const { return drive_; }
  uint8_t known() const { return board_->control().known(); }
  // s for which the line shall be unplugged; taken once. 0: nothing asked.
  double take_unplug();

 private:
  class Eeprom : public Memory {
   public:
    Eeprom() { bytes_.fill(0xFF); }
    uint8_t read(uint16_t address) override { return bytes_[address]; }
    bool ready() override { return true; }
    void write(uint16_t address, uint8_t byte) override { bytes_[address] = byte; }
    void flip(size_t address) { bytes_[address % bytes_.size()] ^= 0xFF; }

   private:
    std::array<uint8_t, 4096> bytes_;
  };
  class Transmitter : public Line {
   public:
    bool send(const uint8_t* frame, uint8_t bytes) override;
    std::deque<uint8_t> bytes;
  };

  void reset(uint8_t cause);
  void sense(Inputs* inputs);
  void know_positions();
  void pass_line(std::deque<uint8_t>* from, LineFaults* faults, std::deque<uint8_t>* to);

  ArmDescription arm_;
  Plant plant_;
  Eeprom eeprom_;
  Transmitter transmitter_;
  std::unique_ptr<Board> board_;
  std::deque<uint8_t> from_host_, arrived_, to_host_;
  LineFaults receive_faults_, transmit_faults_;
  std::mt19937 random_{1};
  std::array<double, 3> start_;
  std::array<double, 3> drive_ = {{0, 0, 0}};
  std::array<int64_t, 3> counted_ = {{0, 0, 0}};
  std::array<double, 3> noise_ = {{0, 0, 0}};  // illegal transitions in a second
  uint64_t ticks_ = 0;
  double line_credit_ = 0;  // bytes that may pass in this tick
  double frozen_ms_ = 0;
  double frozen_for_ms_ = 0;
  double unplug_ = 0;
  double silent_ms_ = 0;  // the line carries nothing for this time
  bool homed_;
  bool button_ = false;
  bool object_ = false;
  bool stop_open_ = false;
};
