// SPDX-License-Identifier: Apache-2.0
// Keeps the control interrupt away for the life of the object; elsewhere than on AVR everything runs in one thread.
#pragma once

#ifdef __AVR__
#include <avr/interrupt.h>
#include <avr/io.h>
#endif

class InterruptLock {
 public:
#ifdef __AVR__
  InterruptLock() : status_(SREG) { cli(); }
  ~InterruptLock() {
    __asm__ volatile("" ::: "memory");
    SREG = status_;
  }

 private:
  const unsigned char status_;
#else
  InterruptLock() {}
  ~InterruptLock() {}
#endif
  InterruptLock(const InterruptLock&) = delete;
  InterruptLock& operator=(const InterruptLock&) = delete;
};
