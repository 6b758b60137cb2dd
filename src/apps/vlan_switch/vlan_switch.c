/* SPDX-License-Identifier: Apache-2.0
 *
 * The switch by VLAN and MAC address: a burst of one port's frames, each sent to the
 * port that has its destination. Where an address lies in the table is chance, and
 * ports follow each other at random: in Lua each case would be a trace of its own.
 *
 * Inside the switch frames have no tag; a trunk's lose it here, and get it here.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "../../native/api.h"
#include "vlan_switch.h"

enum {
  WAYS = VSWITCH_WAYS,
  MACS = 12,         /* bytes of a frame before its EtherType */
  HEADER = 14, TAG = 4,
  GROUP_ADDRESS = 1, /* of a MAC address's first byte (IEEE 802) */
  FLOOD = 0x10000,   /* of a verdict: to all ports of the VLAN */
  FLOOD_OPEN,        /* to those without an address */
  DROP = 0x20000     /* and a reason */
};

#define ADDRESS 0xffffffffffffu
#define USED (1ull << 60) /* so that no key is an empty slot's 0 */

static inline uint8_t *data_of(const struct packet *p)
{
  return p->buf_addr + p->data_off;
}

static inline uint64_t key_of(uint64_t mac, uint32_t vlan)
{
  return (mac & ADDRESS) | (uint64_t)vlan << 48 | USED;
}

static inline uint64_t load(const uint8_t *mac)
{
  uint64_t value;
  memcpy(&value, mac, sizeof value); /* two bytes more than it has */
  return value;
}

static inline struct vswitch_bucket *bucket(const struct vswitch *s, uint64_t key)
{
  unsigned __int128 product = (unsigned __int128)(key ^ s->seed) * 0x9e3779b97f4a7c15u;
  uint64_t hash = (uint64_t)product ^ (uint64_t)(product >> 64);
  return &s->table[(hash ^ hash >> 32) & s->mask];
}

static inline bool fresh(const struct vswitch *s, const struct vswitch_bucket *b, int i)
{
  return b->fixed[i] || s->now - b->seen[i] <= s->timeout;
}

/* Which of the bucket's keys it is, or -1. All are looked at: where it lies is chance,
 * and a branch for each would be one that the CPU can't foretell. */
static inline int find(const struct vswitch_bucket *b, uint64_t key)
{
  uint32_t equal = 0;
#ifdef __AVX2__
  __m256i keys = _mm256_loadu_si256((const __m256i *)b->key);
  __m256i same = _mm256_cmpeq_epi64(keys, _mm256_set1_epi64x((long long)key));
  equal = (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(same));
#else
  for (int i = 0; i < WAYS; i++)
    equal |= (uint32_t)(b->key[i] == key) << i;
#endif
  return equal ? __builtin_ctz(equal) : -1;
}

/* A slot for a new key: empty, or of an address that has been quiet for long; or -1. */
static inline int slot_for(const struct vswitch *s, const struct vswitch_bucket *b)
{
  for (int i = 0; i < WAYS; i++)
    if (b->key[i] == 0 || !fresh(s, b, i))
      return i;
  return -1;
}

static inline void put(const struct vswitch *s, struct vswitch_bucket *b, int i,
                       uint64_t key, uint16_t port, bool fixed)
{
  b->key[i] = key;
  b->seen[i] = s->now;
  b->port[i] = port;
  b->fixed[i] = fixed;
}

/* The address is the port's, for good. -1 if its bucket is full, -2 if another port has
 * it. `mac` is the address as its 6 bytes in memory are read. */
int pg_vswitch_add(struct vswitch *s, uint64_t mac, uint32_t vlan, uint32_t port)
{
  uint64_t key = key_of(mac, vlan);
  struct vswitch_bucket *b = bucket(s, key);
  if (find(b, key) >= 0)
    return -2;
  int i = slot_for(s, b);
  if (i < 0)
    return -1;
  put(s, b, i, key, (uint16_t)port, true);
  return 0;
}

/* The port of the key, which is in this bucket if it is anywhere, or -1. */
static inline int port_in(const struct vswitch *s, const struct vswitch_bucket *b,
                          uint64_t key)
{
  int i = find(b, key);
  return i >= 0 && fresh(s, b, i) ? b->port[i] : -1;
}

/* The port of the address, or -1. */
int64_t pg_vswitch_port_of(const struct vswitch *s, uint64_t mac, uint32_t vlan)
{
  uint64_t key = key_of(mac, vlan);
  return port_in(s, bucket(s, key), key);
}

static inline void learn(struct vswitch *s, uint64_t mac, uint32_t vlan, uint16_t port)
{
  uint64_t key = key_of(mac, vlan);
  struct vswitch_bucket *b = bucket(s, key);
  int i = find(b, key);
  if (i >= 0 && b->fixed[i])
    return;
  if (i < 0)
    i = slot_for(s, b);
  if (i >= 0)
    put(s, b, i, key, port, false);
}

static inline bool is_tag(const uint8_t *type)
{
  return (type[0] == 0x81 && type[1] == 0x00) || (type[0] == 0x88 && type[1] == 0xa8);
}

static inline void pop_tag(struct packet *p)
{
  uint8_t *data = data_of(p);
  memmove(data + TAG, data, MACS);
  p->data_off += TAG;
  p->length -= TAG;
}

/* Put the tag of `vlan` on the frame, unless that is 0. False if it would be too long. */
bool pg_vswitch_tag(struct packet *p, uint32_t vlan)
{
  if (vlan == 0)
    return true;
  if (p->length > PACKET_MAX_PAYLOAD - TAG || p->data_off < TAG)
    return false;
  p->data_off -= TAG;
  p->length += TAG;
  uint8_t *data = data_of(p);
  memmove(data, data + TAG, MACS);
  data[MACS] = 0x81;
  data[MACS + 1] = 0x00;
  data[MACS + 2] = (uint8_t)(vlan >> 8);
  data[MACS + 3] = (uint8_t)vlan;
  return true;
}

/* The VLAN of a frame of the trunk, whose tag comes off; or DROP and a reason. */
static inline uint32_t vlan_from_trunk(const struct vswitch *s, struct packet *p)
{
  const uint8_t *data = data_of(p);
  uint32_t vlan = 0;
  if (data[MACS] == 0x81 && data[MACS + 1] == 0x00) {
    if (p->length < HEADER + TAG)
      return DROP | VSWITCH_SHORT;
    vlan = (data[MACS + 2] & 15u) << 8 | data[MACS + 3];
    pop_tag(p);
  }
  return s->used[vlan] ? vlan : DROP | VSWITCH_UNKNOWN_VLAN;
}

/* The VLAN of a frame of a port. A port without a VLAN sends no tags of its own: they
 * would reach other VLANs by the trunk. */
static inline uint32_t vlan_from_port(const struct vswitch *s, const struct packet *p,
                                      uint32_t port)
{
  uint32_t vlan = s->vlan[port];
  return vlan == 0 && is_tag(data_of(p) + MACS) ? DROP | VSWITCH_TAGGED : vlan;
}

/* Where a frame goes: a port, FLOOD, FLOOD_OPEN, or DROP and a reason. `b` is the bucket
 * of its destination. */
static inline uint32_t destination(struct vswitch *s, const struct packet *p,
                                   uint32_t vlan, uint32_t port,
                                   const struct vswitch_bucket *b)
{
  const uint8_t *data = data_of(p);
  if (s->learns[port] && s->open[vlan] && !(data[6] & GROUP_ADDRESS))
    learn(s, load(data + 6), vlan, (uint16_t)port);
  if (data[0] & GROUP_ADDRESS)
    return FLOOD;
  int to = port_in(s, b, key_of(load(data), vlan));
  if (to >= 0)
    return (uint32_t)to == port ? DROP | VSWITCH_OWN_PORT : (uint32_t)to;
  if (s->open[vlan])
    return FLOOD_OPEN;
  return port == 0 || !s->has_trunk ? DROP | VSWITCH_UNKNOWN_MAC : 0;
}

/* The VLAN of a frame, or DROP and a reason. */
static inline uint32_t vlan_of(const struct vswitch *s, struct packet *p, uint32_t port)
{
  if (p->length < HEADER)
    return DROP | VSWITCH_SHORT;
  return port == 0 ? vlan_from_trunk(s, p) : vlan_from_port(s, p, port);
}

/* Take a burst from the link, and ask the memory for its headers; how many packets. */
static int take(struct link *in, struct packet **packets)
{
  int n = pg_take(in, packets, PORT_BURST);
  for (int i = 0; i < n; i++)
    __builtin_prefetch(packets[i]);
  int64_t bytes = 0;
  for (int i = 0; i < n; i++) {
    bytes += packets[i]->length;
    __builtin_prefetch(data_of(packets[i]));
  }
  in->rxbytes += bytes;
  return n;
}

/* Where frames of a port go, and in which VLANs. What a step reads was asked of the
 * memory a step before, for all of them. */
static void decide(struct vswitch *s, struct packet **packets, int n, uint32_t port,
                   uint32_t *to, uint32_t *vlan)
{
  const struct vswitch_bucket *buckets[PORT_BURST];
  for (int i = 0; i < n; i++) {
    vlan[i] = vlan_of(s, packets[i], port);
    if (!(vlan[i] & DROP)) {
      buckets[i] = bucket(s, key_of(load(data_of(packets[i])), vlan[i]));
      __builtin_prefetch(buckets[i]);
    }
  }
  for (int i = 0; i < n; i++) {
    to[i] = vlan[i] & DROP ? vlan[i]
                           : destination(s, packets[i], vlan[i], port, buckets[i]);
    if (to[i] == 0 && !pg_vswitch_tag(packets[i], vlan[i]))
      to[i] = DROP | VSWITCH_OVERSIZE;
    if (!(to[i] & (DROP | FLOOD)))
      __builtin_prefetch(s->out[to[i]], 1);
  }
}

/* One packet into a link, as pg_give() does with several: where ports follow each other
 * at random, runs are short. */
static inline void give_one(struct freelist *account, struct link *link, struct packet *p)
{
  if ((uint32_t)link->write - (uint32_t)link->read >= LINK_MAX_PACKETS) {
    pg_give(account, link, &p, 1);
    return;
  }
  link->packets[(uint32_t)link->write & (LINK_RING_SIZE - 1)] = p;
  link->write = (int32_t)((uint32_t)link->write + 1);
}

/* Take a burst from the link `in` of port number `port`, and send what goes to one port
 * by that one's link. What is left are packets to flood and packets to drop, in `s`.
 * How many packets it took. */
int pg_vswitch(struct vswitch *s, struct freelist *account, struct link *in,
               uint32_t port)
{
  struct packet *packets[PORT_BURST];
  uint32_t to[PORT_BURST], vlan[PORT_BURST];
  int n = take(in, packets);
  s->floods = s->drops = 0;
  decide(s, packets, n, port, to, vlan);
  for (int i = 0, run; i < n; i += run) {
    run = 1;
    if (!(to[i] & (DROP | FLOOD)) && !s->out[to[i]])
      to[i] = DROP | VSWITCH_UNKNOWN_MAC;
    if (to[i] & DROP) {
      s->dropped[to[i] & 7]++;
      s->drop[s->drops++] = packets[i];
    } else if (to[i] & FLOOD) {
      s->flood_vlan[s->floods] = (uint16_t)vlan[i];
      s->flood_all[s->floods] = to[i] == FLOOD;
      s->flood[s->floods++] = packets[i];
    } else {
      while (i + run < n && to[i + run] == to[i])
        run++;
      if (run == 1)
        give_one(account, s->out[to[i]], packets[i]);
      else
        pg_give(account, s->out[to[i]], &packets[i], run);
    }
  }
  return n;
}
