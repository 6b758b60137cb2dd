/* SPDX-License-Identifier: Apache-2.0
 *
 * Which ICMP messages are errors (RFC 792; RFC 1122, section 3.2.2), whose headers are as
 * long as those of all.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ICMP_HEADER = 8 };

/* Unreachable, source quench, redirect, time exceeded, parameter problem. */
static inline bool icmp4_is_error(uint8_t type)
{
  enum { ERRORS = 1 << 3 | 1 << 4 | 1 << 5 | 1 << 11 | 1 << 12 };
  return type < 32 && ERRORS >> type & 1;
}
