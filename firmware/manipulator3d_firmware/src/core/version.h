// SPDX-License-Identifier: Apache-2.0
// Version of the firmware.
#pragma once

#include <stdint.h>

const uint8_t VERSION_MAJOR = 0;
const uint8_t VERSION_MINOR = 1;
const uint8_t VERSION_PATCH = 0;
