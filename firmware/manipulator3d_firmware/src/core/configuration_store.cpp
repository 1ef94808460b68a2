// SPDX-License-Identifier: Apache-2.0
#include "configuration_store.h"

#include "crc.h"

using namespace messages;

namespace {

uint16_t crc_of(const uint8_t* bytes, uint16_t count) {
  uint16_t crc = CRC_INITIAL;
  for (uint16_t i = 0; i < count; ++i) crc = crc_update(crc, bytes[i]);
  return crc;
}

}  // namespace

uint16_t ConfigurationStore::count_start() {
  uint16_t count = static_cast<uint16_t>(memory_.read(START_COUNT) | (memory_.read(START_COUNT + 1) << 8));
  ++count;
  memory_.write(START_COUNT, static_cast<uint8_t>(count));
  if ((count & 0xFF) == 0) memory_.write(START_COUNT + 1, static_cast<uint8_t>(count >> 8));
  return count;
}

bool ConfigurationStore::load(JointConfiguration* joints, BoardConfiguration* board) {
  for (uint16_t i = 0; i < BYTES; ++i) image_[i] = memory_.read(static_cast<uint16_t>(IMAGE + i));
  uint32_t hash = 0;
  for (uint8_t i = 0; i < 4; ++i) hash |= static_cast<uint32_t>(image_[1 + i]) << (8 * i);
  const uint16_t crc = static_cast<uint16_t>(image_[BYTES - 2] | (image_[BYTES - 1] << 8));
  if (image_[0] != VERSION || hash != PROTOCOL_HASH || crc != crc_of(image_, BYTES - 2)) return false;
  const uint8_t* from = image_ + 5;
  for (uint8_t j = 0; j < JOINTS; ++j, from += JointConfiguration::SIZE) unpack(joints[j], from);
  unpack(*board, from);
  return true;
}

void ConfigurationStore::save(const JointConfiguration* joints, const BoardConfiguration& board) {
  image_[0] = VERSION;
  for (uint8_t i = 0; i < 4; ++i) image_[1 + i] = static_cast<uint8_t>(PROTOCOL_HASH >> (8 * i));
  uint8_t* to = image_ + 5;
  for (uint8_t j = 0; j < JOINTS; ++j, to += JointConfiguration::SIZE) pack(joints[j], to);
  pack(board, to);
  const uint16_t crc = crc_of(image_, BYTES - 2);
  image_[BYTES - 2] = static_cast<uint8_t>(crc);
  image_[BYTES - 1] = static_cast<uint8_t>(crc >> 8);
  next_ = 0;
}

bool ConfigurationStore::advance(bool* ok) {
  if (!busy() || !memory_.ready()) return false;
  const uint16_t address = static_cast<uint16_t>(IMAGE + next_);
  if (memory_.read(address) != image_[next_]) memory_.write(address, image_[next_]);
  if (++next_ < BYTES) return false;
  *ok = true;
  for (uint16_t i = 0; i < BYTES; ++i) *ok = *ok && memory_.read(static_cast<uint16_t>(IMAGE + i)) == image_[i];
  return true;
}
