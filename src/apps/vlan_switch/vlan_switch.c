/* SPDX-License-Identifier: Apache-2.0
 *
 * The switch by VLAN and MAC address: a burst of one port's frames, each sent to the
 * port that has its destination. Where an address is in the table is chance, and
 * ports follow each other at random: in Lua each case would be a trace of its own.
 *
 * Within the switch frames have no tag; a trunk's lose it here, and get it here.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../../native/api.h"
#include "../../native/link_cursors.h"
#include "../../net/fdb/find.h"
#include "tags.h"
#include "vlan_switch.h"

enum {
  TRUNK = 0,         /* the number of its port */
  GROUP_ADDRESS = 1, /* of a MAC address's first byte (IEEE 802) */
  FLOOD = 0x10000,   /* of a verdict: to all ports of the VLAN */
  FLOOD_OPEN,        /* to those without an address */
  DROP = 0x20000,    /* and a reason */
  SOURCE = 6,        /* where a frame has its source */
  GONE_A_BURST = 4,  /* addresses whose time is over */
  ASKED = 64         /* packets of a link, at once */
};

/* The VLAN of a frame of the trunk, whose tag comes off; or DROP and a reason. */
static inline uint32_t vlan_from_trunk(const struct vswitch *s, struct packet *p)
{
  const uint8_t *data = data_of(p);
  uint32_t type = get16(data + MACS), vlan = 0;
  if (type == TYPE_8021Q) {
    if (p->length < HEADER + TAG)
      return DROP | VSWITCH_SHORT;
    vlan = get16(data + MACS + 2) & 0xfff;
    pop_tag(p);
  } else if (type == TYPE_8021AD) {
    return DROP | VSWITCH_UNKNOWN_VLAN; /* a provider's VLAN is none of these */
  }
  return s->used[vlan] ? vlan : DROP | VSWITCH_UNKNOWN_VLAN;
}

/* Where a frame for that address goes: a port, FLOOD, FLOOD_OPEN, or DROP and a reason. */
static inline uint32_t destination(const struct vswitch *s, const struct fdb_query *q,
                                   uint32_t port)
{
  if (q->key & GROUP_ADDRESS)
    return FLOOD;
  const struct fdb_record *e = fdb_found(&s->fdb, q);
  if (e)
    return fdb_port(e) == port ? DROP | VSWITCH_OWN_PORT : fdb_port(e);
  if (s->open[fdb_segment(q->key)])
    return FLOOD_OPEN;
  return port == TRUNK || !s->has_trunk ? DROP | VSWITCH_UNKNOWN_MAC : TRUNK;
}

/* Ask the memory for the packets that wait in the link, and for their headers, where
 * those of most packets lie. */
static void ask_for(const struct link *link)
{
  uint32_t read = (uint32_t)link->read, n = (uint32_t)link->write - read;
  for (uint32_t i = 0; i < n && i < ASKED; i++) {
    const uint8_t *p = (uint8_t *)link->packets[(read + i) & (LINK_RING_SIZE - 1)];
    __builtin_prefetch(p);
    __builtin_prefetch(p + sizeof(struct packet) + PACKET_HEADROOM);
  }
}

/* The burst of one port, as it is decided. */
struct burst {
  int n;
  uint32_t port;
  struct packet *packets[PORT_BURST];
  struct fdb_query query[PORT_BURST]; /* for the destinations */
  struct link *out[PORT_BURST];   /* where the packets go, NULL: as `to` tells */
  uint32_t to[PORT_BURST];        /* FLOOD, FLOOD_OPEN, or DROP and a reason */
};

static inline bool is_dropped(const struct burst *b, int i) { return b->to[i] & DROP; }

/* The VLAN of a frame, or DROP and a reason. A port without a VLAN, whose `own` is 0,
 * sends no tags of its own: they would reach other VLANs by the trunk. */
static inline uint32_t vlan_of(const struct vswitch *s, struct packet *p, uint32_t port,
                               uint32_t own)
{
  if (p->length < HEADER)
    return DROP | VSWITCH_SHORT;
  if (port == TRUNK)
    return vlan_from_trunk(s, p);
  return own == 0 && is_vlan_type(get16(data_of(p) + MACS)) ? DROP | VSWITCH_TAGGED : own;
}

/* The burst's destinations; the memory is asked for what the database has of them.
 * Returns the bytes of the burst. */
static int64_t find_keys(const struct vswitch *s, struct burst *b)
{
  int64_t bytes = 0;
  uint32_t port = b->port, own = s->vlan[port];
  for (int i = 0; i < b->n; i++) {
    struct packet *p = b->packets[i];
    bytes += p->length;
    uint32_t vlan = vlan_of(s, p, port, own);
    b->to[i] = vlan & DROP ? vlan : 0;
    fdb_ask(&s->fdb, &b->query[i], vlan & DROP ? 0 : fdb_key(data_of(p), vlan));
  }
  return bytes;
}

/* Of up to FDB_BURST packets from that one on. */
static void learn_some(struct vswitch *s, const struct burst *b, int from, int n)
{
  struct fdb_query source[FDB_BURST];
  int packets = 0;
  for (int i = from; i < from + n; i++) {
    uint32_t vlan = fdb_segment(b->query[i].key);
    if (!is_dropped(b, i) && s->open[vlan])
      fdb_ask(&s->fdb, &source[packets++], fdb_key(data_of(b->packets[i]) + SOURCE, vlan));
  }
  for (int i = 0; i < packets; i++)
    fdb_ask_entry(&s->fdb, &source[i]);
  for (int i = 0; i < packets; i++)
    fdb_learn(&s->fdb, &source[i], b->port);
}

static void learn_sources(struct vswitch *s, const struct burst *b)
{
  pg_fdb_expire(&s->fdb, GONE_A_BURST);
  for (int i = 0; i < b->n; i += FDB_BURST)
    learn_some(s, b, i, b->n - i < FDB_BURST ? b->n - i : FDB_BURST);
}

/* The link to which the packet goes, or NULL. */
static inline struct link *link_to(const struct vswitch *s, struct burst *b, int i)
{
  uint32_t to = destination(s, &b->query[i], b->port);
  if (to == TRUNK && !pg_vswitch_tag(b->packets[i], fdb_segment(b->query[i].key)))
    to = DROP | VSWITCH_OVERSIZE;
  else if (!(to & (DROP | FLOOD)) && !s->out[to])
    to = DROP | VSWITCH_UNKNOWN_MAC;
  if (!(to & (DROP | FLOOD)))
    return s->out[to];
  b->to[i] = to;
  return NULL;
}

/* Where the burst's packets go. What a step reads was asked of the memory a step before,
 * for all of them. */
static void decide(struct vswitch *s, struct burst *b)
{
  if (s->learns[b->port])
    learn_sources(s, b);
  for (int i = 0; i < b->n; i++)
    fdb_ask_entry(&s->fdb, &b->query[i]);
  for (int i = 0; i < b->n; i++) {
    struct link *out = is_dropped(b, i) ? NULL : link_to(s, b, i);
    __builtin_prefetch(out, 1);
    b->out[i] = out;
  }
}

/* One packet into a link, as pg_give() does with several: where ports follow each other
 * at random, runs are short. */
static inline void give_one(struct freelist *account, struct link *link, struct packet *p)
{
  if (waiting(link) >= LINK_MAX_PACKETS) {
    pg_give(account, link, &p, 1);
    return;
  }
  link->packets[(uint32_t)link->write & (LINK_RING_SIZE - 1)] = p;
  link->write = (int32_t)((uint32_t)link->write + 1);
}

/* What goes to no one port: it is left to the caller. */
static void leave(struct vswitch *s, const struct burst *b, int i)
{
  if (b->to[i] & DROP) {
    s->dropped[b->to[i] & 7]++;
    s->drop[s->drops++] = b->packets[i];
  } else {
    s->flood_vlan[s->floods] = (uint16_t)fdb_segment(b->query[i].key);
    s->flood_all[s->floods] = b->to[i] == FLOOD;
    s->flood[s->floods++] = b->packets[i];
  }
}

static void send(struct vswitch *s, struct freelist *account, struct burst *b)
{
  for (int i = 0, run; i < b->n; i += run) {
    struct link *out = b->out[i];
    run = 1;
    if (!out) {
      leave(s, b, i);
      continue;
    }
    while (i + run < b->n && b->out[i + run] == out)
      run++;
    if (run == 1)
      give_one(account, out, b->packets[i]);
    else
      pg_give(account, out, &b->packets[i], run);
  }
}

/* Take a burst from the link of that place, and send what goes to one port by that one's
 * link. What is left are packets to flood and packets to drop, in `s`. How many packets
 * it took. Meanwhile the memory is asked for those of the next place. */
int pg_vswitch(struct vswitch *s, struct freelist *account, uint32_t place)
{
  struct link *in = s->links[place], *next = s->links[place + 1];
  struct burst b;
  if (place == 0)
    ask_for(in);
  if (next)
    ask_for(next);
  b.port = s->numbers[place];
  b.n = pg_take(in, b.packets, PORT_BURST);
  s->floods = s->drops = 0;
  in->rxbytes += find_keys(s, &b);
  decide(s, &b);
  send(s, account, &b);
  return b.n;
}
