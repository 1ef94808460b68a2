// SPDX-License-Identifier: Apache-2.0
// Keeps the control step away for the life of the object: a step that falls due meanwhile is made at its end. Encoders
// and the serial line go on being served. Elsewhere than on AVR everything runs in one thread.
#pragma once

#include <stdint.h>

#ifdef __AVR__
namespace interrupt_lock {
extern volatile uint8_t depth;     // locks that are held; written by the main loop alone
extern volatile bool step_is_due;  // written by the control interrupt while a lock is held
void make_due_step();
}  // namespace interrupt_lock
#endif

class InterruptLock {
 public:
#ifdef __AVR__
  InterruptLock() {
    ++interrupt_lock::depth;
    __asm__ volatile("" ::: "memory");
  }
  ~InterruptLock() {
    __asm__ volatile("" ::: "memory");
    if (--interrupt_lock::depth == 0 && interrupt_lock::step_is_due) interrupt_lock::make_due_step();
  }
#else
  InterruptLock() {}
  ~InterruptLock() {}
#endif

  InterruptLock(const InterruptLock&) = delete;
  InterruptLock& operator=(const InterruptLock&) = delete;
};
