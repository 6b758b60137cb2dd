/* SPDX-License-Identifier: Apache-2.0
 *
 * Learning and finding, inline: a bridge does both for each packet.
 */
#pragma once

#include "../flow/find.h"
#include "fdb.h"

enum { FDB_GROUP_BIT = 1, FDB_KEY = sizeof(uint64_t), FDB_PORT = 1 /* in a note */ };
_Static_assert(sizeof(struct fdb_record) == 32, "two in a cache line");

/* The key of the address at `mac`, of which two bytes more are read. */
FLOW_INLINE uint64_t fdb_key(const uint8_t *mac, uint32_t segment)
{
  uint64_t value;
  memcpy(&value, mac, sizeof value);
  return (value & 0xffffffffffff) | (uint64_t)segment << 48;
}

FLOW_INLINE uint32_t fdb_segment(uint64_t key) { return (uint32_t)(key >> 48); }

FLOW_INLINE struct fdb_record *fdb_entry(const struct fdb *f, uint32_t number)
{
  return (struct fdb_record *)f->table->records.record + number;
}

FLOW_INLINE uint16_t fdb_port(const struct fdb_record *e)
{
  uint16_t port;
  memcpy(&port, &e->age.note[FDB_PORT], sizeof port);
  return port;
}

/* The list and the port, in one number. */
FLOW_INLINE uint32_t fdb_whereabouts(const struct fdb_record *e)
{
  uint32_t both;
  memcpy(&both, &e->age.list, sizeof both);
  return both;
}

FLOW_INLINE void fdb_set_port(struct fdb_record *e, uint32_t port)
{
  uint16_t value = (uint16_t)port;
  memcpy(&e->age.note[FDB_PORT], &value, sizeof value);
}

/* Has it been seen within the timeout? Number 0 never was. */
FLOW_INLINE bool fdb_is_live(const struct fdb *f, const struct fdb_record *e)
{
  return e->age.expiry >= f->now;
}

FLOW_INLINE uint32_t fdb_hash(const struct fdb *f, uint64_t key)
{
  return flow_hash_of(f->table->index.secret, &key, FDB_KEY);
}

/* The entry of the key with that hash, or NULL. */
FLOW_INLINE struct fdb_record *fdb_find(const struct fdb *f, uint64_t key, uint32_t hash)
{
  struct fdb_record *e = fdb_entry(f, flow_find(&f->table->index, &key, hash, FDB_KEY));
  return fdb_is_live(f, e) ? e : NULL;
}

/* The entry has been seen again, at its port. */
FLOW_INLINE void fdb_seen(struct fdb *f, struct fdb_record *e)
{
  struct flow_table *t = f->table;
  int64_t expiry = f->now + t->list[FDB_KNOWN].timeout;
  if (e->age.list != FDB_STATIC)
    flow_touch(&t->records, t->list, (uint32_t)(e - fdb_entry(f, 0)), FDB_KNOWN, expiry,
               f->now);
}

/* A burst ------------------------------------------------------------------------------ */

/* What is known of a key before it is looked up. */
struct fdb_query { uint64_t key; uint32_t hash, number; };
enum { FDB_BURST = 64 };

/* Its line is asked for. */
FLOW_INLINE void fdb_ask(const struct fdb *f, struct fdb_query *q, uint64_t key)
{
  q->key = key;
  q->hash = fdb_hash(f, key);
  __builtin_prefetch(flow_line_of(&f->table->index, q->hash));
}

/* The number of the key's entry, as it seems: the key isn't looked at. */
FLOW_INLINE uint32_t fdb_guess(const struct fdb *f, uint32_t hash)
{
  const struct flow_line *line = flow_line_of(&f->table->index, hash);
  uint32_t m = flow_matches(line, hash);
  return m ? line->number[__builtin_ctz(m)] : 0;
}

/* Behind fdb_ask() for other keys, too: the entry is asked for. */
FLOW_INLINE void fdb_ask_entry(const struct fdb *f, struct fdb_query *q)
{
  q->number = fdb_guess(f, q->hash);
  __builtin_prefetch(fdb_entry(f, q->number), 1);
}

/* All of it at once. */
FLOW_INLINE struct fdb_query fdb_query(const struct fdb *f, uint64_t key)
{
  uint32_t hash = fdb_hash(f, key);
  return (struct fdb_query){key, hash, fdb_guess(f, hash)};
}

/* The entry, or NULL. Others may have been learned since the query was made. */
FLOW_INLINE struct fdb_record *fdb_found(const struct fdb *f, const struct fdb_query *q)
{
  struct fdb_record *e = fdb_entry(f, q->number);
  if (__builtin_expect(e->key == q->key && fdb_is_live(f, e), 1))
    return e;
  return fdb_find(f, q->key, q->hash);
}

uint32_t pg_fdb_enter(struct fdb *f, uint64_t key, uint32_t hash, uint32_t port);

/* The address has sent from the port. An enum fdb_result. */
FLOW_INLINE uint32_t fdb_learn(struct fdb *f, const struct fdb_query *q, uint32_t port)
{
  struct fdb_record *e = fdb_entry(f, q->number);
  if (__builtin_expect(e->key == q->key && fdb_whereabouts(e) == (FDB_KNOWN | port << 16) &&
                       e->age.expiry == f->now + f->table->list[FDB_KNOWN].timeout, 1))
    return FDB_SAME; /* it was seen a moment ago */
  return pg_fdb_enter(f, q->key, q->hash, port);
}
