/* SPDX-License-Identifier: Apache-2.0
 *
 * The C library's random numbers: a seed gives the same ones here as in other programs.
 */
#pragma once

#include <stdint.h>

/* From now on, numbers follow from the seed. */
void pg_chance_seed(uint32_t seed);

/* A number from 0 to `most`, which is at most 2^31 - 2. */
uint32_t pg_chance(uint32_t most);
