// SPDX-License-Identifier: Apache-2.0
// Quadrature encoders on the six external interrupts.
#pragma once

#include <stdint.h>

#include "../core/control.h"

namespace encoders {

void start();
// Fills in what has been counted since the last call; from the control interrupt.
void collect(Inputs* inputs);

}  // namespace encoders
