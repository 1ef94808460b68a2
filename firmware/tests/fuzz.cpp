// SPDX-License-Identifier: Apache-2.0
// Random and mutated bytes into the decoder and the whole board; built with the address and undefined-behaviour
// sanitizers. Prints what it has seen; fails when a frame is accepted that was never sent, beyond the CRC's chance, or
// when the decoder is not in step again after one frame.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/board.h"

namespace {

// xorshift64*, by Marsaglia and Vigna
uint64_t generator() {
  static uint64_t state = 0x9E3779B97F4A7C15ULL;
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (state * 0x2545F4914F6CDD1DULL) >> 16;
}

class Eeprom : public Memory {
 public:
  uint8_t read(uint16_t address) override { return bytes_[address]; }
  bool ready() override { return true; }
  void write(uint16_t address, uint8_t byte) override { bytes_[address] = byte; }

 private:
  uint8_t bytes_[4096] = {};
};

class Nowhere : public Line {
 public:
  bool send(const uint8_t*, uint8_t) override { return true; }
};

uint8_t any_byte() { return static_cast<uint8_t>(generator()); }

std::vector<uint8_t> frame(uint8_t type, const std::vector<uint8_t>& payload, uint8_t sequence) {
  uint8_t out[messages::MAX_FRAME_BYTES];
  const uint8_t length = encode_frame(type, sequence, payload.data(), static_cast<uint8_t>(payload.size()), out);
  return std::vector<uint8_t>(out, out + length);
}

std::vector<uint8_t> random_payload() {
  std::vector<uint8_t> payload(generator() % (MAX_PAYLOAD_BYTES + 1));
  for (uint8_t& byte : payload) byte = generator() % 3 == 0 ? 0 : any_byte();
  return payload;
}

void mutate(std::vector<uint8_t>* bytes) {
  const size_t at = generator() % bytes->size();
  switch (generator() % 4) {
    case 0:
      (*bytes)[at] = any_byte();
      break;
    case 1:
      bytes->erase(bytes->begin() + static_cast<long>(at));
      break;
    case 2:
      bytes->insert(bytes->begin() + static_cast<long>(at), any_byte());
      break;
    default:
      (*bytes)[at] = static_cast<uint8_t>((*bytes)[at] ^ (1 << generator() % 8));
  }
}

struct Counts {
  uint64_t bytes = 0, sent = 0, broken = 0, wrong = 0;
};

// A broken frame, then a whole one, which must arrive.
void mutated_frames(uint64_t most, Counts* counts) {
  FrameDecoder decoder;
  while (counts->bytes < most) {
    const std::vector<uint8_t> first = frame(any_byte(), random_payload(), any_byte());
    std::vector<uint8_t> broken = first;
    mutate(&broken);
    const bool delimited = !broken.empty() && broken.back() == 0;
    for (const uint8_t byte : broken) {
      // A change to a zero byte may leave a part that is a whole frame only by the CRC's chance.
      if (decoder.feed(byte) && broken != first) ++counts->wrong;
    }
    if (!delimited) decoder.feed(0);
    const std::vector<uint8_t> payload = random_payload();
    const uint8_t type = any_byte();
    const std::vector<uint8_t> second = frame(type, payload, 7);
    bool arrived = false;
    for (const uint8_t byte : second) arrived = decoder.feed(byte);
    if (!arrived || decoder.type() != type || decoder.payload_bytes() != payload.size() ||
        (!payload.empty() && std::memcmp(decoder.payload(), payload.data(), payload.size()) != 0)) {
      std::printf("a whole frame was lost after a broken one\n");
      std::exit(1);
    }
    counts->bytes += broken.size() + second.size();
    counts->sent += 1;
    counts->broken += broken != first;
  }
}

void random_bytes(uint64_t most, Counts* counts) {
  FrameDecoder decoder;
  for (uint64_t i = 0; i < most; ++i) {
    if (decoder.feed(generator() % 16 == 0 ? 0 : any_byte())) ++counts->wrong;
  }
  counts->bytes += most;
}

// Valid frames with any content into the whole board while it runs: nothing may be undefined.
void requests(uint64_t most, Counts* counts) {
  Nowhere line;
  Eeprom eeprom;
  Board board(line, eeprom, messages::ResetCause::POWER_ON);
  board.start();
  static const uint8_t sizes[] = {0,
                                  messages::JointConfiguration::SIZE,
                                  messages::BoardConfiguration::SIZE,
                                  1,
                                  0,
                                  4,
                                  messages::Setpoint::SIZE,
                                  1,
                                  1,
                                  0,
                                  0,
                                  1,
                                  messages::SetHere::SIZE,
                                  0};
  Inputs inputs = Inputs();
  Panel panel = Panel();
  for (uint64_t i = 0; i < most; ++i) {
    const uint8_t type = static_cast<uint8_t>(1 + generator() % 15);
    std::vector<uint8_t> payload(type <= 14 ? sizes[type - 1] : 3);
    for (uint8_t& byte : payload) byte = generator() % 4 == 0 ? static_cast<uint8_t>(generator() % 4) : any_byte();
    if (type == messages::Setpoint::ID) {
      const uint32_t time = board.control().snapshot().time_us + static_cast<uint32_t>(generator() % 120000);
      for (int k = 0; k < 4; ++k) payload[static_cast<size_t>(k)] = static_cast<uint8_t>(time >> (8 * k));
    }
    const std::vector<uint8_t> bytes = frame(type, payload, static_cast<uint8_t>(i));
    for (const uint8_t byte : bytes) board.receive(byte, board.control().time_us());
    for (int ms = 0; ms < 3; ++ms) {
      const int16_t* drive = board.control().step(inputs);
      // a crude plant: what is driven, moves; now and then the inputs change
      for (int j = 0; j < 3; ++j) inputs.steps[j] = static_cast<int8_t>(drive[j] / 300);
      if (generator() % 256 == 0) {
        inputs.home_switches = static_cast<uint8_t>(generator() % 8);
        inputs.emergency_stop_open = generator() % 8 == 0;
      }
      panel.now_us = board.control().time_us();
      panel.button_pressed = generator() % 16 == 0;
      board.poll(panel);
    }
    counts->bytes += bytes.size();
  }
}

}  // namespace

int main(int count, char** arguments) {
  const uint64_t bytes = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 10000000;
  Counts mutated, random, whole;
  mutated_frames(bytes / 2, &mutated);
  random_bytes(bytes / 2, &random);
  requests(100000, &whole);
  std::printf(
      "%llu bytes, %llu broken frames, %llu wrong ones accepted; %llu bytes of requests\n",
      static_cast<unsigned long long>(mutated.bytes + random.bytes), static_cast<unsigned long long>(mutated.broken),
      static_cast<unsigned long long>(mutated.wrong + random.wrong), static_cast<unsigned long long>(whole.bytes));
  // Each broken frame, and each of about bytes/32 random ones, passes the CRC with a chance of 1 in 65536.
  const double expected = static_cast<double>(mutated.broken + bytes / 32) / 65536.0;
  return static_cast<double>(mutated.wrong + random.wrong) <= 3 * expected + 10 ? 0 : 1;
}
