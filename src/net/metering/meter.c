/* SPDX-License-Identifier: Apache-2.0
 *
 * Accounts packets to flows, a burst at once: all keys are read, then all records looked
 * for (flow_find_burst), then each is counted. A record that ends is copied to where
 * exporters take it from; packets wait (pg_meter_take) while there is no room.
 *
 * One thread meters.
 */
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>

#include "../../native/api.h"
#include "../flow/find.h"
#include "../ip/transport.h"
#include "../wire/ports.h"
#include "../wire/wire.h"
#include "metering.h"

enum {
  AHEAD = 8,                 /* packets that the memory is asked for */
  NS_PER_MS = 1000000,
  VLAN_NUMBER = 0xfff
};

_Static_assert(sizeof(struct meter_key) == 48, "six words, no padding");
_Static_assert(offsetof(struct meter_key, inner_vlan) == 40, "rest_of");
_Static_assert(sizeof(struct meter_record) == 128, "two cache lines");
_Static_assert((int)METER_ENDED_MOST >= (int)FLOW_AT_ONCE, "a packet ends one record at most");

/* A burst's packets that have flows. */
struct burst {
  uint32_t n;
  bool removed;              /* numbers found before may be others' */
  uint32_t hash[FLOW_AT_ONCE], number[FLOW_AT_ONCE];
  uint32_t octets[FLOW_AT_ONCE];
  uint8_t flags[FLOW_AT_ONCE];
  struct meter_key key[FLOW_AT_ONCE];
};

/* A meter with this table; NULL: no memory. */
struct meter *pg_meter_new(struct flow_table *table, uint64_t active)
{
  struct meter *m = calloc(1, sizeof *m);
  if (m)
    *m = (struct meter){.table = table, .active = active};
  return m;
}

void pg_meter_free(struct meter *m) { free(m); }

/* Look at the clock, which doesn't go back where it is set: its milliseconds. */
static int64_t present(struct meter *m)
{
  uint64_t now = (uint64_t)pg_real_ns();
  if (now > m->now)
    m->now = now;
  m->now_ms = (int64_t)(m->now / NS_PER_MS);
  return m->now_ms;
}

/* Keys ------------------------------------------------------------------------------ */

/* The fields of a key behind its addresses, as two words: what is written in parts, and
 * read in words at once, the processor waits for. */
struct rest { uint64_t low, high; };

static struct rest rest_of(uint32_t ports, const struct transport *t, const uint8_t *data,
                           uint32_t input)
{
  uint64_t vlan = 0, inner = 0;
  if (t->ip >= ETHERNET_HEADER + VLAN_TAG)
    vlan = get16(data + ETHERNET_HEADER) & VLAN_NUMBER;
  if (t->ip >= ETHERNET_HEADER + 2 * VLAN_TAG)
    inner = get16(data + ETHERNET_HEADER + VLAN_TAG) & VLAN_NUMBER;
  return (struct rest){
    ports | (uint64_t)t->protocol << 32 | (uint64_t)t->version << 40 | vlan << 48,
    inner | (uint64_t)input << 16};
}

static void write_key(struct meter_key *key, const uint8_t *ip, struct rest rest,
                      uint8_t version)
{
  uint64_t word[6] = {0, 0, 0, 0, rest.low, rest.high};
  if (version == 4) {
    word[0] = load32(ip + IP4_ADDRESSES);
    word[2] = load32(ip + IP4_ADDRESSES + 4);
  } else {
    for (int i = 0; i < 4; i++)
      word[i] = load64(ip + IP6_ADDRESSES + 8 * i);
  }
  memcpy(key, word, sizeof word);
}

/* Ports, the source's below, or ICMP's type and code; and the TCP flags. */
static uint32_t read_ports(struct meter *m, const uint8_t *data, const struct transport *t,
                           uint8_t *flags)
{
  bool icmp = t->protocol == IPPROTO_ICMP || t->protocol == IPPROTO_ICMPV6;
  *flags = 0;
  if (!icmp && !has_ports(t->protocol))
    return 0;
  if (t->offset > 0) {
    m->fragments++;
    return 0;
  }
  if (t->end < t->l4 + PORTS_BYTES) {
    m->cut++;
    return 0;
  }
  const uint8_t *l4 = data + t->l4;
  if (icmp)
    return get16(l4) << 16;
  if (t->protocol == IPPROTO_TCP && t->end > t->l4 + TCP_FLAGS)
    *flags = l4[TCP_FLAGS];
  return get16(l4) | get16(l4 + 2) << 16;
}

static void read_packet(struct meter *m, struct burst *b, const uint8_t *data,
                        uint32_t length, uint32_t input)
{
  struct transport t;
  if (!pg_transport(&t, data, length)) {
    m->not_ip++;
    return;
  }
  uint32_t ports = read_ports(m, data, &t, &b->flags[b->n]);
  struct meter_key *key = &b->key[b->n];
  write_key(key, data + t.ip, rest_of(ports, &t, data, input), t.version);
  b->octets[b->n] = t.end - t.ip;
  b->hash[b->n] = flow_hash_of(m->table->index.secret, key, sizeof *key);
  b->n++;
}

/* Records ---------------------------------------------------------------------------- */

static struct meter_record *record_of(const struct meter *m, uint32_t number)
{
  return (struct meter_record *)flow_record(&m->table->records, number);
}

static void export(struct meter *m, const struct meter_record *r, uint8_t reason)
{
  m->record[m->ended++] = (struct meter_ended){r->key, r->value, reason};
  m->ended_by[reason]++;
}

static void end(struct meter *m, uint32_t number, uint8_t reason)
{
  export(m, record_of(m, number), reason);
  pg_flow_table_remove(m->table, number);
}

/* Why a record in this list goes when its time is over. */
static uint8_t reason_of(const struct meter_record *r)
{
  return r->age.list == METER_ENDING ? METER_FINISHED : METER_IDLE;
}

static uint32_t begin(struct meter *m, struct burst *b, const struct meter_key *key)
{
  struct flow_table *t = m->table;
  int64_t now = m->now_ms;
  if (t->records.count >= t->limit) {
    uint32_t victim = pg_flow_table_victim(t, now);
    if (victim) {
      const struct meter_record *r = record_of(m, victim);
      bool over = r->age.expiry <= now || r->age.list == METER_ENDING;
      end(m, victim, over ? reason_of(r) : METER_EVICTED);
      b->removed = true;
    }
  }
  uint64_t evicted = t->evicted;
  uint32_t number = pg_flow_table_add(t, key, METER_LIVE, now);
  b->removed |= t->evicted != evicted; /* for want of memory, untold */
  m->flows += number && t->added;
  return number;
}

/* Why the flow's record ends before this packet, which is one of the same key; 0: it
 * doesn't. Records may stay in the table for longer than their time (flow_stays). */
static uint8_t reason_before(const struct meter *m, const struct meter_record *r,
                             uint32_t flags)
{
  const struct flow_list *list = m->table->list;
  uint64_t gap = m->now - r->value.last;
  if (r->value.packets == 0)
    return 0;
  if (r->age.list == METER_ENDING)
    return flags & TCP_SYN || gap >= list[METER_ENDING].timeout * (uint64_t)NS_PER_MS
             ? METER_FINISHED : 0;
  if (gap >= list[METER_LIVE].timeout * (uint64_t)NS_PER_MS)
    return METER_IDLE;
  return m->now - r->value.first >= m->active ? METER_ACTIVE : 0;
}

/* The list of a record that goes on with this packet. */
static uint32_t list_after(struct meter *m, struct meter_record *r, uint32_t flags)
{
  uint8_t reason = reason_before(m, r, flags);
  uint32_t list = r->age.list;
  if (reason) {
    export(m, r, reason);
    r->value = (struct meter_counts){0};
    m->flows += reason != METER_ACTIVE;
    list = reason == METER_FINISHED ? METER_LIVE : list;
  }
  return flags & (TCP_FIN | TCP_RST) ? METER_ENDING : list;
}

static void count(struct meter *m, struct burst *b, uint32_t i)
{
  struct flow_table *t = m->table;
  uint32_t number = b->number[i], flags = b->flags[i];
  if (number == 0 || b->removed)
    number = flow_find(&t->index, &b->key[i], b->hash[i], sizeof b->key[i]);
  if (number == 0)
    number = begin(m, b, &b->key[i]);
  if (number == 0) {
    m->refused++;
    return;
  }
  struct meter_record *r = record_of(m, number);
  uint32_t list = list_after(m, r, flags);
  if (r->value.packets == 0)
    r->value.first = m->now;
  r->value.last = m->now;
  r->value.packets++;
  r->value.octets += b->octets[i];
  r->value.tcp_flags |= flags;
  m->packets++;
  m->octets += b->octets[i];
  flow_touch(&t->records, t->list, number, list, m->now_ms + t->list[list].timeout,
             m->now_ms);
}

/* Account the packets from number `from` to before `n` of the link, which stay there, to
 * flows. How many were taken up to the end: fewer than `n` if the records that have ended
 * (`m->record`) must be exported first. */
uint32_t pg_meter_take(struct meter *m, const struct link *l, uint32_t from, uint32_t n,
                       uint32_t input)
{
  uint32_t read = (uint32_t)l->read;
  present(m);
  while (from < n && m->ended + (uint32_t)FLOW_AT_ONCE <= METER_ENDED_MOST) {
    struct burst b;
    uint32_t to = n - from > FLOW_AT_ONCE ? from + FLOW_AT_ONCE : n;
    b.n = 0;
    b.removed = false;
    for (; from < to; from++) {
      const struct packet *p = l->packets[(read + from) & (LINK_RING_SIZE - 1)];
      if (from + AHEAD < n) {
        const struct packet *ahead =
          l->packets[(read + from + AHEAD) & (LINK_RING_SIZE - 1)];
        __builtin_prefetch(ahead);
        __builtin_prefetch((const uint8_t *)ahead + sizeof *p + PACKET_HEADROOM);
      }
      read_packet(m, &b, p->buf_addr + p->data_off, p->length, input);
    }
    flow_find_burst(&m->table->index, (const uint8_t *)b.key, sizeof b.key[0], b.hash, b.n,
                    b.number, sizeof b.key[0]);
    for (uint32_t i = 0; i < b.n; i++)
      count(m, &b, i);
  }
  return from;
}

/* End up to `most` flows whose time is over; false: there may be more. */
bool pg_meter_expire(struct meter *m, uint32_t most)
{
  int64_t now = present(m);
  for (; most > 0 && m->ended < METER_ENDED_MOST; most--) {
    uint32_t number = pg_flow_table_expired(m->table, now);
    if (!number)
      return true;
    end(m, number, reason_of(record_of(m, number)));
  }
  return false;
}

/* End flows that are in the table, as many as there is room for; false: there are more. */
bool pg_meter_flush(struct meter *m)
{
  uint32_t number = 0;
  while (m->ended < METER_ENDED_MOST) {
    number = pg_flow_table_next(m->table, number);
    if (!number)
      return true;
    const struct meter_record *r = record_of(m, number);
    end(m, number, r->age.list == METER_ENDING ? METER_FINISHED : METER_FLUSHED);
  }
  return false;
}
