/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers that the same seed gives again; lib/traffic/random.lua in C.
 */
#pragma once

#include <stdint.h>

/* The next 64 bits: SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
 * Generators, OOPSLA 2014). */
static inline uint64_t pg_random(uint64_t *state)
{
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}
