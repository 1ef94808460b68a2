// SPDX-License-Identifier: Apache-2.0
// The configuration in non-volatile memory: version, protocol hash, messages, checksum. Also the number of starts.
#pragma once

#include <stdint.h>

#include "../messages.h"

// Non-volatile memory, byte by byte.
class Memory {
 public:
  virtual uint8_t read(uint16_t address) = 0;
  // True when write() would not wait.
  virtual bool ready() = 0;
  virtual void write(uint16_t address, uint8_t byte) = 0;

 protected:
  ~Memory() {}
};

class ConfigurationStore {
 public:
  explicit ConfigurationStore(Memory& memory) : memory_(memory) {}

  // Counts this start; call once. Returns the new number.
  uint16_t count_start();
  // Fills the messages; false when the memory holds nothing valid for this protocol.
  bool load(messages::JointConfiguration* joints, messages::BoardConfiguration* board);
  // Begins to write; advance() writes one byte at a time.
  void save(const messages::JointConfiguration* joints, const messages::BoardConfiguration& board);
  bool busy() const { return next_ < BYTES; }
  // Call often. Returns true once, when the last byte has been written; `ok` tells whether it reads back.
  bool advance(bool* ok);

 private:
  static const uint16_t START_COUNT = 0;  // address, 2 bytes
  static const uint16_t IMAGE = 16;       // address
  static const uint8_t VERSION = 1;
  static const uint16_t BYTES =
      1 + 4 + messages::JOINTS * messages::JointConfiguration::SIZE + messages::BoardConfiguration::SIZE + 2;

  Memory& memory_;
  uint8_t image_[BYTES];
  uint16_t next_ = BYTES;
};
