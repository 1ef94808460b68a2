// SPDX-License-Identifier: Apache-2.0
// Frames on the wire: type, sequence, payload and CRC, COBS encoded, ended by a zero byte.
#pragma once

#include <stdint.h>

#include "../messages.h"

// Without COBS and delimiter: type, sequence, payload, CRC.
const uint8_t MAX_CONTENT_BYTES = messages::MAX_FRAME_BYTES - 2;
const uint8_t MAX_PAYLOAD_BYTES = MAX_CONTENT_BYTES - 4;

// Takes bytes one by one. Whatever arrives, it is in step again after the next zero byte.
class FrameDecoder {
 public:
  FrameDecoder() { restart(); }

  // Returns true when `byte` has completed a valid frame; type(), payload() and so on then hold it until the next call.
  bool feed(uint8_t byte);

  uint8_t type() const { return content_[0]; }
  uint8_t sequence() const { return content_[1]; }
  const uint8_t* payload() const { return content_ + 2; }
  uint8_t payload_bytes() const { return static_cast<uint8_t>(length_ - 4); }
  uint16_t crc() const { return static_cast<uint16_t>(content_[length_ - 2] | (content_[length_ - 1] << 8)); }

  // Frames that were not empty and not valid.
  uint16_t bad_frames() const { return bad_frames_; }

 private:
  void restart();
  bool finish();

  uint8_t content_[MAX_CONTENT_BYTES];
  uint8_t length_;     // of the content so far
  uint8_t run_left_;   // bytes until the next COBS code
  bool zero_pending_;  // a zero belongs between this run and the next
  bool started_;       // something has come since the last delimiter
  bool broken_;        // too long
  bool complete_;      // content_ holds a finished frame
  uint16_t bad_frames_ = 0;
};

// Writes a frame to `out`, of at least MAX_FRAME_BYTES, and returns its length. `bytes` is at most MAX_PAYLOAD_BYTES.
uint8_t encode_frame(uint8_t type, uint8_t sequence, const uint8_t* payload, uint8_t bytes, uint8_t* out);
