/* SPDX-License-Identifier: Apache-2.0
 *
 * The C library's random numbers: a seed gives the same ones here as in other programs.
 */
#include <stdlib.h>

#include "chance.h"

void pg_chance_seed(uint32_t seed) { srandom(seed); }

uint32_t pg_chance(uint32_t most)
{
  uint32_t share = RAND_MAX / (most + 1), number;
  do number = random() / share; while (number > most);
  return number;
}
