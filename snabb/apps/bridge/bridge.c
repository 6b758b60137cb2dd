/* SPDX-License-Identifier: Apache-2.0
 *
 * The learning bridge: which port an address was last seen at, and a burst of packets
 * sent by that. Where an address lies in the table is chance, and ports follow each
 * other at random: in Lua each case would be a trace of its own.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../../../src/native/api.h"
#include "bridge.h"

enum {
  WAYS = 8,         /* slots in a bucket */
  ADDRESSES = 12,   /* bytes of a frame */
  GROUP_ADDRESS = 1 /* of a MAC address's first byte (IEEE 802) */
};

#define ADDRESS 0xffffffffffffu
#define USED 0x1000000000000u /* so that no address is an empty slot's 0 */

static inline uint64_t load(const uint8_t *mac)
{
  uint64_t value;
  memcpy(&value, mac, sizeof value); /* two bytes more than it has */
  return (value & ADDRESS) | USED;
}

/* Addresses often differ in their last bytes only, the upper ones here: the product's
 * halves are folded, so that every bit of the address counts. */
static inline struct mac_entry *bucket(const struct mac_table *t, uint64_t mac)
{
  unsigned __int128 product =
    (unsigned __int128)(mac ^ t->seed) * 0x9e3779b97f4a7c15u;
  uint64_t hash = (uint64_t)product ^ (uint64_t)(product >> 64);
  return &t->slot[((hash ^ hash >> 32) & t->mask) * WAYS];
}

static inline bool fresh(const struct mac_table *t, const struct mac_entry *e)
{
  return t->now - e->seen <= t->timeout;
}

static inline const struct mac_entry *find(const struct mac_table *t, uint64_t mac)
{
  const struct mac_entry *e = bucket(t, mac);
  for (int i = 0; i < WAYS; i++)
    if (e[i].mac == mac)
      return fresh(t, &e[i]) ? &e[i] : NULL;
  return NULL;
}

static inline void learn(struct mac_table *t, uint64_t mac, uint16_t port,
                         uint16_t group)
{
  struct mac_entry *e = bucket(t, mac), *to = NULL;
  for (int i = 0; i < WAYS; i++) {
    if (e[i].mac == mac) {
      to = &e[i];
      break;
    }
    if (!to && (e[i].mac == 0 || !fresh(t, &e[i])))
      to = &e[i];
  }
  if (!to) {
    t->overflow = 1;
    return;
  }
  *to = (struct mac_entry){mac, t->now, port, group};
}

/* `mac` is the address as its 6 bytes in memory are read. */
void pg_mac_insert(struct mac_table *t, uint64_t mac, uint32_t port, uint32_t group)
{
  learn(t, mac | USED, (uint16_t)port, (uint16_t)group);
}

/* The port of the address in the lower, its group in the upper 16 bits; or -1. */
int64_t pg_mac_lookup(const struct mac_table *t, uint64_t mac)
{
  const struct mac_entry *e = find(t, mac | USED);
  return e ? (int64_t)(e->port | (uint32_t)e->group << 16) : -1;
}

/* How many slots of bucket `i` are in use. */
int pg_mac_used(const struct mac_table *t, uint32_t i)
{
  int used = 0;
  for (int k = 0; k < WAYS; k++) {
    const struct mac_entry *e = &t->slot[(uint64_t)i * WAYS + k];
    used += e->mac != 0 && fresh(t, e);
  }
  return used;
}

/* Where the packet is to go, after its source is learned: a port, or one of these. */
enum { FLOOD = 0, DISCARD = 0xffff };

static inline uint16_t decide(struct mac_table *t, const struct packet *p,
                              uint16_t port, uint16_t group)
{
  const uint8_t *data = p->buf_addr + p->data_off;
  uint16_t to = FLOOD;
  if (p->length < ADDRESSES + 2)
    return DISCARD;
  const struct mac_entry *e = find(t, load(data));
  if (e)
    to = e->port == port || (group != 0 && e->group == group) ? DISCARD : e->port;
  if (!(data[6] & GROUP_ADDRESS))
    learn(t, load(data + 6), port, group);
  return to;
}

/* Take a burst from port `port`'s link `in` and send what goes to one port to that
 * one's link in `out`. What is left are those to flood, `b->flood`, and those to
 * discard. How many packets it took. */
int pg_bridge(struct bridge *b, struct freelist *account, struct link *in,
              uint32_t port, uint32_t group)
{
  struct packet *packets[PORT_BURST];
  uint16_t to[PORT_BURST];
  int n = pg_take_counted(in, packets, PORT_BURST);
  b->floods = b->discards = 0;
  for (int i = 0; i < n; i++) {
    if (i + 4 < n)
      __builtin_prefetch(packets[i + 4]->buf_addr + packets[i + 4]->data_off);
    to[i] = decide(&b->table, packets[i], (uint16_t)port, (uint16_t)group);
  }
  for (int i = 0, run; i < n; i += run) {
    for (run = 1; i + run < n && to[i + run] == to[i]; run++)
      ;
    if (to[i] == DISCARD) {
      memcpy(&b->discard[b->discards], &packets[i], run * sizeof *packets);
      b->discards += run;
    } else if (to[i] == FLOOD || b->out[to[i]] == NULL) {
      memcpy(&b->flood[b->floods], &packets[i], run * sizeof *packets);
      b->floods += run;
    } else {
      pg_give(account, b->out[to[i]], &packets[i], run);
    }
  }
  return n;
}
