/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a neighbour cache outlives the process (kept.lua): a record for each address
 * whose MAC address is known. Plain declarations: LuaJIT reads this file.
 */
#pragma once

#include <stdint.h>

#include "../../net/flow/flow.h"

/* The key is an address of `length` bytes, of 0 a word; behind it zeros. The MAC address
 * is a number, so that it changes by one store; 0: the process was killed before that. */
struct neighbor_record {
  uint8_t address[16];
  uint32_t length, unused;
  uint64_t mac;
  struct flow_age age;
};

/* The context of pg_neighbor_restore(): records that it puts into the table, until there are
 * `most` neighbours, of which there are `count` now. Lua makes entries of the `made` numbers,
 * and sets that to 0. NEIGHBOR_PASSED: the record says nothing. */
enum { NEIGHBOR_AT_ONCE = 8, NEIGHBOR_PASSED = 5 };
struct neighbor_into {
  struct flow_table *table;
  uint32_t count, most, made, number[8];
};

uint32_t pg_neighbor_restore(void *context, const void *record, int64_t now);
