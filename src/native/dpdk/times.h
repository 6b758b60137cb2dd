/* SPDX-License-Identifier: Apache-2.0
 *
 * The system's clocks, as numbers.
 */
#pragma once

#include <stdint.h>
#include <time.h>

/* Nanoseconds; 0 if there is no such clock, as of a thread that has ended. */
static inline int64_t ns_of(clockid_t clock)
{
  struct timespec t = {0};
  clock_gettime(clock, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static inline double seconds_of(clockid_t clock)
{
  struct timespec t = {0};
  clock_gettime(clock, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}
