// SPDX-License-Identifier: Apache-2.0
// The serial line to the host: USART 0, 115200 baud, with a ring of bytes in each direction.
#pragma once

#include <stdint.h>

#include "../core/board.h"

class SerialLine : public Line {
 public:
  void start();
  bool send(const uint8_t* frame, uint8_t bytes) override;
  // Takes one received byte; false when there is none.
  bool receive(uint8_t* byte);
  // Bytes lost because nobody took them in time.
  uint16_t lost() const;
};
