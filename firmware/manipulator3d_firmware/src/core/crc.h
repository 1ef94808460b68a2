// SPDX-License-Identifier: Apache-2.0
// CRC-16 with polynomial 0x1021, not reflected: avr-libc's _crc_xmodem_update, Python's binascii.crc_hqx.
#pragma once

#include <stdint.h>

inline uint16_t crc_update(uint16_t crc, uint8_t byte) {
  crc = static_cast<uint16_t>((crc >> 8) | (crc << 8));
  crc = static_cast<uint16_t>(crc ^ byte);
  crc = static_cast<uint16_t>(crc ^ ((crc & 0xFF) >> 4));
  crc = static_cast<uint16_t>(crc ^ (crc << 12));
  crc = static_cast<uint16_t>(crc ^ ((crc & 0xFF) << 5));
  return crc;
}
