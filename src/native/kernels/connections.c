/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections that were let pass: a bounded table of addresses, ports and protocol,
 * the same for both directions. A connection is forgotten once no packet of it was
 * seen for a time, or when its bucket is full and the others in it are newer.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../../net/wire/wire.h"
#include "../api.h"

enum {
  WAYS = 8, /* slots in a bucket */
  PORTS = 4, /* bytes */
  TCP = 6, UDP = 17,
  USED = 0x10000, V6 = 0x100 /* of a slot's kind */
};

/* Both directions are one connection: the smaller end of it is `a`. */
static inline void order(struct connection *c, bool swap, const uint64_t *source,
                         const uint64_t *destination)
{
  for (int i = 0; i < 3; i++) {
    c->a[i] = swap ? destination[i] : source[i];
    c->b[i] = swap ? source[i] : destination[i];
  }
}

static inline bool smaller(const uint64_t *x, const uint64_t *y)
{
  return x[0] != y[0] ? x[0] < y[0] : x[1] != y[1] ? x[1] < y[1] : x[2] < y[2];
}

/* The connection of an Ethernet frame that carries IPv4 or IPv6; false if it doesn't
 * or is cut short. Ports are those of TCP and UDP, and 0 otherwise. */
bool pg_connection(const uint8_t *data, uint32_t length, struct connection *c)
{
  if (length < ETHERNET_HEADER + IP4_HEADER)
    return false;
  const uint8_t *ip = data + ETHERNET_HEADER, *end = data + length, *l4;
  uint32_t type = get16(data + MAC_ADDRESSES), protocol;
  bool fragment = false;
  if (type == TYPE_IP4) {
    l4 = ip + (ip[0] & 15) * 4;
    protocol = ip[9];
    fragment = ((ip[6] & 0x1f) | ip[7]) != 0;
    c->kind = USED | protocol;
  } else if (type == TYPE_IP6 && length >= ETHERNET_HEADER + IP6_HEADER) {
    l4 = ip + IP6_HEADER;
    protocol = ip[6];
    c->kind = USED | V6 | protocol;
  } else {
    return false;
  }
  uint16_t ports[2] = {0};
  if ((protocol == TCP || protocol == UDP) && !fragment) {
    if (end - l4 < PORTS)
      return false;
    memcpy(ports, l4, sizeof ports);
  }
  if (type == TYPE_IP4) {
    uint64_t source[3] = {load32(ip + 12) | (uint64_t)ports[0] << 32};
    uint64_t destination[3] = {load32(ip + 16) | (uint64_t)ports[1] << 32};
    order(c, destination[0] < source[0], source, destination);
  } else {
    uint64_t source[3] = {load64(ip + 8), load64(ip + 16), ports[0]};
    uint64_t destination[3] = {load64(ip + 24), load64(ip + 32), ports[1]};
    order(c, smaller(destination, source), source, destination);
  }
  return true;
}

static inline uint64_t mix(uint64_t hash, uint64_t word)
{
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

static inline uint64_t hash_of(const struct connections *t,
                               const struct connection *c)
{
  uint64_t hash = mix(t->seed ^ c->kind, c->a[0]);
  hash = mix(hash, c->b[0]);
  if (c->kind & V6) {
    hash = mix(mix(hash, c->a[1]), c->b[1]);
    hash = mix(hash, c->a[2] << 16 | c->b[2]);
  }
  return hash;
}

static inline bool same(const struct connection *x, const struct connection *y)
{
  uint64_t difference = x->kind ^ y->kind;
  for (int i = 0; i < 3; i++)
    difference |= (x->a[i] ^ y->a[i]) | (x->b[i] ^ y->b[i]);
  return difference == 0;
}

static inline bool fresh(const struct connections *t, const struct connection *c)
{
  return c->kind != 0 && t->now - c->seen <= t->max_age;
}

static inline uint32_t first_slot(const struct connections *t, uint64_t hash)
{
  return ((uint32_t)hash & t->mask) * WAYS;
}

/* The upper half of the hash is the slot's tag: most others differ in it. */
static struct connection *find(struct connections *t, const struct connection *c,
                               uint64_t hash)
{
  uint32_t first = first_slot(t, hash), tag = (uint32_t)(hash >> 32);
  for (uint32_t i = first; i < first + WAYS; i++)
    if (t->tag[i] == tag && same(&t->slot[i], c) && fresh(t, &t->slot[i])) {
      t->slot[i].seen = t->now;
      return &t->slot[i];
    }
  return NULL;
}

/* Is the connection in the table? If so it is as new again. */
bool pg_connections_find(struct connections *t, const struct connection *c)
{
  return find(t, c, hash_of(t, c)) != NULL;
}

/* Put it where it is already, or nothing is, or what wasn't seen for longest. */
static void add(struct connections *t, const struct connection *c, uint64_t hash)
{
  uint32_t first = first_slot(t, hash), to = first;
  for (uint32_t i = first; i < first + WAYS; i++) {
    const struct connection *slot = &t->slot[i];
    if (same(slot, c) || !fresh(t, slot)) {
      to = i;
      break;
    }
    if (t->now - slot->seen > t->now - t->slot[to].seen)
      to = i;
  }
  t->evicted += fresh(t, &t->slot[to]);
  t->tag[to] = (uint32_t)(hash >> 32);
  t->slot[to] = *c;
  t->slot[to].seen = t->now;
}

/* Put the connection into the table. */
void pg_connections_add(struct connections *t, const struct connection *c)
{
  uint64_t hash = hash_of(t, c);
  if (!find(t, c, hash))
    add(t, c, hash);
}

/* How many connections are in the table. */
uint32_t pg_connections_count(const struct connections *t)
{
  uint32_t count = 0;
  for (uint64_t i = 0; i < ((uint64_t)t->mask + 1) * WAYS; i++)
    count += fresh(t, &t->slot[i]);
  return count;
}

/* May the packet pass: is its connection in the table (1), or does the filter
 * accept it (1, and 2 if its connection is in the table since then)? */
int pg_filter_stateful(const struct filter *f, struct connections *t,
                       const uint8_t *data, uint32_t length)
{
  struct connection c;
  if (!pg_connection(data, length, &c))
    return pg_filter(f, data, length);
  uint64_t hash = hash_of(t, &c);
  if (find(t, &c, hash))
    return 1;
  if (!pg_filter(f, data, length))
    return 0;
  add(t, &c, hash);
  return 2;
}
