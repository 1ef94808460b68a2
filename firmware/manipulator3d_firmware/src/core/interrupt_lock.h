// SPDX-License-Identifier: Apache-2.0
// Keeps the control interrupt away for the life of the object. Encoders and the serial line go on being served.
// Elsewhere than on AVR everything runs in one thread.
#pragma once

#ifdef __AVR__
#include <avr/io.h>
#endif

class InterruptLock {
 public:
#ifdef __AVR__
  // The control interrupt is compare match A of timer 1.
  InterruptLock() : mask_(TIMSK1) {
    TIMSK1 = 0;
    __asm__ volatile("" ::: "memory");
  }
  ~InterruptLock() {
    __asm__ volatile("" ::: "memory");
    TIMSK1 = mask_;
  }

 private:
  const unsigned char mask_;
#else
  InterruptLock() {}
  ~InterruptLock() {}
#endif

  InterruptLock(const InterruptLock&) = delete;
  InterruptLock& operator=(const InterruptLock&) = delete;
};
