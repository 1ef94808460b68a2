// SPDX-License-Identifier: Apache-2.0
// The Arduino IDE compiles for size, which takes longer.
#pragma GCC optimize("O2")

#include "encoders.h"

#include <avr/interrupt.h>

#include "../board_pins.h"

// The interrupts add to 8-bit counters, which the control interrupt reads once a millisecond: 127 counts may come until
// then. They are written in assembly because they take most of the processor's time; the C equivalent of one is
//   now = PIN bits; d = transition[last << 2 | now]; last = now; if (d == ILLEGAL) ++illegal; else count += d;
extern "C" {
// Step for each pair of line states, old << 2 | new. Aligned, so that an index never carries into the high byte.
#define ILLEGAL 2
int8_t encoder_transition[16]
    __attribute__((aligned(16), used)) = {0, 1, -1, ILLEGAL, -1, 0, ILLEGAL, 1, 1, ILLEGAL, 0, -1, ILLEGAL, -1, 1, 0};
volatile uint8_t encoder_last[JOINTS] __attribute__((used));  // << 2
volatile uint8_t encoder_count[JOINTS] __attribute__((used));
volatile uint8_t encoder_illegal[JOINTS] __attribute__((used));
}

#define ENCODER_INTERRUPT(vector, joint, port, align)                                                            \
  ISR(vector, ISR_NAKED) {                                                                                       \
    __asm__ volatile(                                                                                            \
        "push r24 \n in r24, __SREG__ \n push r24 \n push r30 \n push r31 \n"                                    \
        "in r24, %[pins] \n" align "andi r24, 3 \n lds r30, encoder_last+" #joint                                \
        " \n or r30, r24 \n lsl r24 \n lsl r24 \n sts encoder_last+" #joint                                      \
        ", r24 \n"                                                                                               \
        "subi r30, lo8(-(encoder_transition)) \n ldi r31, hi8(encoder_transition) \n ld r24, Z \n"               \
        "cpi r24, %[illegal] \n breq 1f \n"                                                                      \
        "lds r30, encoder_count+" #joint " \n add r30, r24 \n sts encoder_count+" #joint                         \
        ", r30 \n"                                                                                               \
        "2: pop r31 \n pop r30 \n pop r24 \n out __SREG__, r24 \n pop r24 \n reti \n"                            \
        "1: lds r30, encoder_illegal+" #joint " \n inc r30 \n sts encoder_illegal+" #joint ", r30 \n rjmp 2b \n" \
        :                                                                                                        \
        : [pins] "I"(_SFR_IO_ADDR(port)), [illegal] "M"(ILLEGAL));                                               \
  }

// Both lines of a joint have the same handler. The compiler must not merge them by having one call another.
ENCODER_INTERRUPT(INT0_vect, 0, ENCODER_0_PIN, "")
ENCODER_INTERRUPT(INT2_vect, 1, ENCODER_1_PIN, "lsr r24 \n lsr r24 \n")
ENCODER_INTERRUPT(INT4_vect, 2, ENCODER_2_PIN, "swap r24 \n")
ISR(INT1_vect, ISR_ALIASOF(INT0_vect));
ISR(INT3_vect, ISR_ALIASOF(INT2_vect));
ISR(INT5_vect, ISR_ALIASOF(INT4_vect));

namespace encoders {
namespace {

uint8_t counted[JOINTS];
uint8_t seen_illegal[JOINTS];

template <uint8_t j>
inline void collect_one(Inputs* inputs) {
  const uint8_t count = encoder_count[j];
  inputs->steps[j] = static_cast<int8_t>(count - counted[j]);
  counted[j] = count;
  const uint8_t illegal = encoder_illegal[j];
  inputs->illegal[j] = static_cast<uint8_t>(illegal - seen_illegal[j]);
  seen_illegal[j] = illegal;
}

}  // namespace

void start() {
  ENCODER_PULL_UPS();
  EICRA = 0x55;  // any edge, INT0 to INT3
  EICRB = 0x05;  // any edge, INT4 and INT5
  encoder_last[0] = static_cast<uint8_t>((ENCODER_0_PIN & 3) << 2);
  encoder_last[1] = static_cast<uint8_t>(((ENCODER_1_PIN >> 2) & 3) << 2);
  encoder_last[2] = static_cast<uint8_t>(((ENCODER_2_PIN >> 4) & 3) << 2);
  EIFR = 0x3F;
  EIMSK = 0x3F;
}

void collect(Inputs* inputs) {
  collect_one<0>(inputs);
  collect_one<1>(inputs);
  collect_one<2>(inputs);
}

}  // namespace encoders
