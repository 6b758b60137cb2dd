/* SPDX-License-Identifier: Apache-2.0
 *
 * What seldom happens in a forwarding database: new addresses, those that move, those
 * that go. Entries are in three lists. One that was seen once is in the first, of which
 * the oldest goes when there is no room: a flood of addresses that are used once drives
 * out others of its kind alone.
 */
#include "find.h"

/* The address as its 6 bytes at `mac`, and the segment, as a key. */
uint64_t pg_fdb_key(const uint8_t *mac, uint32_t segment)
{
  uint64_t key = (uint64_t)segment << 48;
  memcpy(&key, mac, 6);
  return key;
}

/* The number of the key's entry, which may be out of time; or 0. */
uint32_t pg_fdb_find(const struct fdb *f, uint64_t key)
{
  return flow_find(&f->table->index, &key, fdb_hash(f, key), FDB_KEY);
}

int32_t pg_fdb_port_of(const struct fdb *f, uint32_t number)
{
  return fdb_port(fdb_entry(f, number));
}

/* Has that entry been seen within the timeout, or is it static? */
bool pg_fdb_is_live(const struct fdb *f, uint32_t number)
{
  return fdb_is_live(f, fdb_entry(f, number));
}

/* The number of an entry that hasn't been seen within the timeout, or 0. */
uint32_t pg_fdb_expired(const struct fdb *f)
{
  return pg_flow_table_expired(f->table, f->now - 1);
}

/* Forget the entry. A burst may have its number: nobody takes it for one any more. */
void pg_fdb_remove(struct fdb *f, uint32_t number)
{
  pg_flow_table_remove(f->table, number);
  fdb_entry(f, number)->age.expiry = INT64_MIN;
}

/* Take up to `most` of those out; how many there were. */
uint32_t pg_fdb_expire(struct fdb *f, uint32_t most)
{
  uint32_t n = 0;
  for (uint32_t number; n < most && (number = pg_fdb_expired(f)); n++)
    pg_fdb_remove(f, number);
  return n;
}

static bool is_full(const struct fdb *f)
{
  return f->table->records.count >= f->table->limit;
}

/* Entries that are out of time go, two for each that comes; when there is no room, and
 * one may be taken from another, the oldest that was seen once. */
static bool has_room(struct fdb *f, bool takes)
{
  struct flow_table *t = f->table;
  for (f->gones = 0; f->gones < 2; f->gones++) {
    uint32_t number = pg_fdb_expired(f);
    if (!number && takes && is_full(f)) {
      number = t->list[FDB_NEW].oldest;
      f->evicted += number != 0;
    }
    if (!number)
      break;
    f->gone[f->gones] = fdb_port(fdb_entry(f, number));
    pg_fdb_remove(f, number);
  }
  return !is_full(f);
}

static uint32_t add(struct fdb *f, uint64_t key, uint32_t list, uint32_t port, bool takes)
{
  uint16_t value = (uint16_t)port;
  memcpy(&f->table->note[FDB_PORT], &value, sizeof value);
  uint32_t number = has_room(f, takes) ? pg_flow_table_add(f->table, &key, list, f->now) : 0;
  f->had = -1;
  if (!number) {
    f->full++;
    return FDB_FULL;
  }
  return FDB_LEARNED;
}

/* The entry is at that port now. */
static uint32_t renew(struct fdb *f, uint32_t number, uint32_t list, uint32_t port)
{
  struct fdb_record *e = fdb_entry(f, number);
  bool moved = f->had != (uint16_t)port;
  pg_flow_table_touch(f->table, number, list, f->now);
  fdb_set_port(e, port);
  f->moves += moved;
  return moved ? FDB_MOVED : FDB_SAME;
}

static uint32_t put(struct fdb *f, uint64_t key, uint32_t hash, uint32_t port, bool told)
{
  uint32_t number = flow_find(&f->table->index, &key, hash, FDB_KEY);
  const struct fdb_record *e = fdb_entry(f, number);
  f->had = number ? fdb_port(e) : -1;
  f->gones = 0;
  if (key & FDB_GROUP_BIT && !told)
    return FDB_GROUP;
  if (!number)
    return add(f, key, FDB_NEW, port, !told);
  if (e->age.list == FDB_STATIC)
    return FDB_FIXED;
  if (fdb_is_live(f, e))
    return renew(f, number, FDB_KNOWN, port);
  pg_flow_table_touch(f->table, number, FDB_NEW, f->now);
  fdb_set_port(fdb_entry(f, number), port);
  return FDB_LEARNED;
}

/* fdb_learn(), but for what was seen a moment ago. */
uint32_t pg_fdb_enter(struct fdb *f, uint64_t key, uint32_t hash, uint32_t port)
{
  return put(f, key, hash, port, false);
}

/* The address, also a group's, is at the port: a program says so, and no packet. As
 * pg_fdb_learn(), but it takes the place of no other that is in time. */
uint32_t pg_fdb_put(struct fdb *f, uint64_t key, uint32_t port)
{
  return put(f, key, fdb_hash(f, key), port, true);
}

/* The address has sent from the port. An enum fdb_result; f->had is the port that its
 * entry had, or -1: also of one that was out of time, and is learned again. */
uint32_t pg_fdb_learn(struct fdb *f, uint64_t key, uint32_t port)
{
  f->had = (int32_t)(uint16_t)port;
  f->gones = 0;
  struct fdb_query q = fdb_query(f, key);
  return fdb_learn(f, &q, port);
}

/* The address is at that port for good: no packet changes that. Any other entry of it
 * becomes this one. */
uint32_t pg_fdb_fix(struct fdb *f, uint64_t key, uint32_t port)
{
  uint32_t number = pg_fdb_find(f, key);
  f->gones = 0;
  if (key & FDB_GROUP_BIT)
    return FDB_GROUP;
  if (!number)
    return add(f, key, FDB_STATIC, port, true);
  f->had = fdb_port(fdb_entry(f, number));
  return renew(f, number, FDB_STATIC, port);
}
