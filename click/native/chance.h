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

/* The C library's next number, from 0 to 2^31 - 1. */
uint32_t pg_chance_word(void);

/* One of `n` numbers from 0 on, chosen as Click does it; `n` is at least 1. */
uint32_t pg_chance_among(uint32_t n);

/* The numbers of a seed (from 0 to 2^31 - 1) in rows of `width`: those of `n` rows go to
 * `to`, one row behind the other. The rows' indices ascend. Others' numbers stay as
 * they are. */
void pg_chance_rows(uint32_t seed, uint32_t width, const uint32_t *rows, uint32_t n,
                    int32_t *to);
