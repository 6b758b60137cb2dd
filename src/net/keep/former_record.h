/* SPDX-License-Identifier: Apache-2.0
 *
 * A record of a process that has ended, by its number (former.c).
 */
#pragma once

#include "former.h"

enum { FORMER_BITS = 64 };

static inline bool former_has(const struct keep_former *f, uint32_t number)
{
  return number > 0 && number < f->top &&
         f->in_use[number / FORMER_BITS] >> number % FORMER_BITS & 1;
}

static inline const uint8_t *former_record(const struct keep_former *f, uint32_t number)
{
  return f->record + (uint64_t)number * f->size;
}

/* Put a copy into the table; nobody asks for the record again. */
void pg_keep_former_use(struct keep_former *f, uint32_t number);
