/* SPDX-License-Identifier: Apache-2.0
 *
 * The C library's random numbers: a seed gives the same ones here as in other programs.
 */
#include <stdlib.h>
#include <string.h>

#include "chance.h"

void pg_chance_seed(uint32_t seed) { srandom(seed); }

uint32_t pg_chance(uint32_t most)
{
  uint32_t share = RAND_MAX / (most + 1), number;
  do number = random() / share; while (number > most);
  return number;
}

uint32_t pg_chance_word(void)
{
  return random();
}

uint32_t pg_chance_among(uint32_t n)
{
  if (n == 2)
    return random() >> 14 & 1;
  if (n == 0)
    return 0;
  uint32_t share = ((uint32_t)RAND_MAX + 1) / n, number;
  do
    number = random();
  while (number >= share * n);
  return number / share;
}

enum { STATE_BYTES = 128 }; /* of srandom()'s own generator */

void pg_chance_rows(uint32_t seed, uint32_t width, const uint32_t *rows, uint32_t n,
                    int32_t *to)
{
  struct random_data generator;
  char state[STATE_BYTES];
  memset(&generator, 0, sizeof(generator));
  initstate_r(seed, state, sizeof(state), &generator);
  for (uint32_t i = 0, row = 0; i < n; row++) {
    for (uint32_t k = 0; k < width; k++) {
      int32_t number;
      random_r(&generator, &number);
      if (row == rows[i]) *to++ = number;
    }
    if (row == rows[i]) i++;
  }
}
