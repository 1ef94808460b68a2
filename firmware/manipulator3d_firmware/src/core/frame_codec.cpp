// SPDX-License-Identifier: Apache-2.0
#include "frame_codec.h"

#include "crc.h"

void FrameDecoder::restart() {
  length_ = 0;
  run_left_ = 0;
  zero_pending_ = false;
  started_ = false;
  broken_ = false;
  complete_ = false;
}

bool FrameDecoder::feed(uint8_t byte) {
  if (complete_) restart();
  if (byte == 0) return finish();
  started_ = true;
  if (broken_) return false;
  if (run_left_ > 0) {
    --run_left_;
  } else {
    run_left_ = static_cast<uint8_t>(byte - 1);
    const bool insert_zero = zero_pending_;
    zero_pending_ = byte != 0xFF;
    if (!insert_zero) return false;
    byte = 0;
  }
  if (length_ == MAX_CONTENT_BYTES) {
    broken_ = true;
    return false;
  }
  content_[length_++] = byte;
  return false;
}

bool FrameDecoder::finish() {
  bool valid = !broken_ && run_left_ == 0 && length_ >= 4;
  if (valid) {
    uint16_t crc = messages::CRC_INITIAL;
    for (uint8_t i = 0; i < length_ - 2; ++i) crc = crc_update(crc, content_[i]);
    valid = crc == this->crc();
  }
  if (valid) {
    complete_ = true;
    return true;
  }
  if (started_) ++bad_frames_;
  restart();
  return false;
}

namespace {

// COBS encoder that writes behind its back the length of each run.
class Cobs {
 public:
  explicit Cobs(uint8_t* out) : out_(out) {}
  void put(uint8_t byte) {
    if (byte == 0) {
      out_[code_] = static_cast<uint8_t>(end_ - code_);
      code_ = end_++;
    } else {
      out_[end_++] = byte;
    }
  }
  uint8_t finish() {
    out_[code_] = static_cast<uint8_t>(end_ - code_);
    out_[end_++] = 0;
    return end_;
  }

 private:
  uint8_t* out_;
  uint8_t code_ = 0;
  uint8_t end_ = 1;
};

}  // namespace

uint8_t encode_frame(uint8_t type, uint8_t sequence, const uint8_t* payload, uint8_t bytes, uint8_t* out) {
  Cobs cobs(out);
  uint16_t crc = crc_update(crc_update(messages::CRC_INITIAL, type), sequence);
  cobs.put(type);
  cobs.put(sequence);
  for (uint8_t i = 0; i < bytes; ++i) {
    crc = crc_update(crc, payload[i]);
    cobs.put(payload[i]);
  }
  cobs.put(static_cast<uint8_t>(crc));
  cobs.put(static_cast<uint8_t>(crc >> 8));
  return cobs.finish();
}
