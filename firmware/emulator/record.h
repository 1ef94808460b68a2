// SPDX-License-Identifier: Apache-2.0
// What the plant does, written down while it happens: one line of CSV every 10 ms.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

#include "emulated_board.h"

class Record {
 public:
  explicit Record(const std::string& path) : file_(std::fopen(path.c_str(), "w")) {
    if (file_ == nullptr) throw std::runtime_error("cannot write the record " + path);
    // a reader sees whole lines while it is being written
    std::setvbuf(file_, nullptr, _IOLBF, 1 << 12);
    std::fputs("time,q0,q1,q2,v0,v1,v2,drive0,drive1,drive2,mode,fault,gripper_us\n", file_);
  }
  ~Record() { std::fclose(file_); }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  void write(const EmulatedBoard& board) {
    const Plant& plant = board.plant();
    const Snapshot now = board.snapshot();
    std::fprintf(file_, "%.3f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.4f,%.4f,%.4f,%d,%d,%d\n", board.time(), plant.position(0),
                 plant.position(1), plant.position(2), plant.velocity(0), plant.velocity(1), plant.velocity(2),
                 board.drive()[0], board.drive()[1], board.drive()[2], now.mode, now.fault, board.gripper_pulse_us());
  }

 private:
  std::FILE* file_;
};
