/* SPDX-License-Identifier: Apache-2.0
 *
 * Forwarding databases of bridges (README.md), for C and Lua. Plain declarations: LuaJIT
 * reads this file (core.declare).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../../net/flow/flow.h"

/* The key is a MAC address, its first byte in the lowest 8 bits, and above it 16 bits of
 * the segment: a VLAN, or a number that stands for a VNI. The port is the user's number,
 * in the age's last two bytes: so there are two entries in a cache line. */
struct fdb_record { uint64_t key; struct flow_age age; };

/* The lists of entries: seen once, seen again, configured. */
enum { FDB_NEW, FDB_KNOWN, FDB_STATIC };

/* What became of an address. FIXED: its entry is static. */
enum fdb_result {
  FDB_FULL, FDB_GROUP, FDB_FIXED, FDB_LEARNED, FDB_SAME, FDB_MOVED
};

struct fdb {
  struct flow_table *table;
  int64_t now;               /* in the user's unit */
  int32_t had;               /* the port that the last address had before, or -1 */
  uint16_t gone[2];          /* ports of the entries that went for it, and how many */
  uint32_t gones;
  uint64_t moves, full, evicted;
};

uint64_t pg_fdb_key(const uint8_t *mac, uint32_t segment);
uint32_t pg_fdb_learn(struct fdb *f, uint64_t key, uint32_t port);
uint32_t pg_fdb_put(struct fdb *f, uint64_t key, uint32_t port);
uint32_t pg_fdb_fix(struct fdb *f, uint64_t key, uint32_t port);
uint32_t pg_fdb_find(const struct fdb *f, uint64_t key);
int32_t pg_fdb_port_of(const struct fdb *f, uint32_t number);
bool pg_fdb_is_live(const struct fdb *f, uint32_t number);
void pg_fdb_remove(struct fdb *f, uint32_t number);
uint32_t pg_fdb_expired(const struct fdb *f);
uint32_t pg_fdb_expire(struct fdb *f, uint32_t most);

/* restore.c: entries of a process that has ended. By the number of a port there what it is
 * now, or less than 0: an outcome, from FDB_UNUSED on, that says why not; so of segments.
 * `uses`, or NULL: by a port's number now, how many entries lead to it. FDB_PASSED: the
 * entry is no business of this process. */
enum { FDB_PASSED = 5, FDB_UNUSED = 6 };
struct fdb_into {
  struct flow_table *table;
  int32_t *uses;
  int32_t port[65536], segment[65536];
};
uint32_t pg_fdb_restore(void *context, const void *record, int64_t now);
