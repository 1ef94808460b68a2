// SPDX-License-Identifier: Apache-2.0
// Numbers as little-endian bytes.
#pragma once

#include <stdint.h>

namespace messages {

// Visits the fields of a message to write them as little-endian bytes.
class Writer {
 public:
  explicit Writer(uint8_t* out) : out_(out) {}
  template <class T>
  void operator()(const T& field, uint8_t bytes) {
    uint32_t value = static_cast<uint32_t>(field);
    for (; bytes > 0; --bytes, value >>= 8) *out_++ = static_cast<uint8_t>(value);
  }

 private:
  uint8_t* out_;
};

// Visits the fields of a message to read them from little-endian bytes.
class Reader {
 public:
  explicit Reader(const uint8_t* in) : in_(in) {}
  template <class T>
  void operator()(T& field, uint8_t bytes) {
    uint32_t value = 0;
    for (uint8_t i = 0; i < bytes; ++i) value |= static_cast<uint32_t>(*in_++) << (8 * i);
    const bool negative = static_cast<T>(-1) < static_cast<T>(1) && bytes < 4 && (value >> (8 * bytes - 1)) != 0;
    if (negative) value |= ~static_cast<uint32_t>(0) << (8 * bytes);
    field = static_cast<T>(value);
  }

 private:
  const uint8_t* in_;
};

template <class M>
inline void pack(const M& message, uint8_t* out) {
  Writer writer(out);
  M::visit(message, writer);
}

template <class M>
inline void unpack(M& message, const uint8_t* in) {
  Reader reader(in);
  M::visit(message, reader);
}

}  // namespace messages
