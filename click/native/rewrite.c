/* SPDX-License-Identifier: Apache-2.0
 *
 * Rewrites packets that belong to a flow: addresses, ports, checksums (by what changed,
 * RFC 1624). It decides which mapping a packet has, so that no path of it is a trace of
 * LuaJIT's.
 */
#include <string.h>

#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "../../src/native/api.h"
#include "../../src/net/checksum/sum.h"
#include "flow_table.h"
#include "ip.h"
#include "rewrite_key.h"

enum {
  TCP_SUM = 18, /* bytes behind the IP header that a packet with TCP's checksum has */
  FORWARD_DONE = 1, FORWARD_DATA = 4, BOTH_DONE = 3, /* of TCP; replies: one up */
  REPLIED = 1, ONE_MORE = 2, ENOUGH = 6, /* of others: packets, up to three */
  NOTE32_AGGREGATE = 9
};

/* Only an address's own packets are known by their source; others by where they go. */
static __rte_always_inline uint32_t find(const struct click_rewriter *r, int32_t kind,
                                        struct flow_words key, uint32_t destination)
{
  const struct click_flow_kind *k = &r->flows->kind[kind];
  uint32_t number = flow_number(k, key);
  if (!number && r->how == REWRITE_SOURCE)
    number = flow_number(k, words_of(0, destination));
  return number;
}

/* What pg_rewrite_ahead has found for the packet, if that is still so; or 0. */
static __rte_always_inline uint32_t foreseen(struct click_rewriter *r,
                                             const struct packet *p, int32_t kind,
                                             struct flow_words key)
{
  struct click_foreseen *seen = &r->foreseen;
  if (seen->next >= seen->n || seen->packet[seen->next] != p)
    return 0;
  uint32_t number = seen->number[seen->next++];
  const struct click_flow *f = &r->flows->flow[number / 2];
  return number && f->kind == kind && flow_has_key(&f->key[number % 2], key) ? number : 0;
}

static uint16_t direct(uint16_t change, uint32_t reply)
{
  return reply ? (uint16_t)~change : change;
}

static void change_sum(uint8_t *at, uint16_t change)
{
  if (change != 0 && change != 0xffff)
    store16(at, pg_changed_sum(load16(at), change));
}

static void change_l4_sum(const struct view *v, uint16_t change)
{
  uint8_t protocol = v->ip->next_proto_id, *at = v->l4 + pg_checksum_at(protocol);
  if ((protocol == IPPROTO_TCP && v->length >= TCP_SUM) ||
      (protocol == IPPROTO_UDP && v->length >= PORTS))
    if (change != 0 && change != 0xffff)
      store16(at, pg_changed_l4_sum(protocol, load16(at), change));
}

static void set_addresses(const struct click_rewriter *r, struct packet *p,
                          const struct view *v, const struct click_flow *f,
                          uint32_t reply)
{
  const struct click_flow_key *back = &f->key[!reply];
  bool all = r->how != REWRITE_SOURCE;
  if (all || !reply)
    v->ip->src_addr = back->destination;
  if (all || reply) {
    v->ip->dst_addr = back->source;
    if (r->set_destination)
      p->note32[NOTE32_DST_IP] = back->source;
  }
  if (reply && r->reply_note >= 0)
    p->note8[r->reply_note] = f->reply_note;
  change_sum((uint8_t *)&v->ip->hdr_checksum, direct(f->ip_change, reply));
}

/* Both at once: those of packets back, the other way round. */
static void set_ports(const struct view *v, const struct click_flow *f, uint32_t reply)
{
  uint32_t ports;
  memcpy(&ports, &f->key[!reply].sport, sizeof ports);
  ports = ports << 16 | ports >> 16;
  memcpy(v->l4, &ports, sizeof ports);
}

/* Done once a side has sent FIN, until it sends something new; both are after RST. */
static void note_state(struct click_flow *f, const struct view *v, uint32_t reply)
{
  const struct rte_tcp_hdr *tcp = (const struct rte_tcp_hdr *)v->l4;
  int headers = (v->ip->version_ihl & 15) * 4 + (tcp->data_off >> 4) * 4;
  bool payload = headers < rte_be_to_cpu_16(v->ip->total_length);
  if (tcp->tcp_flags & RTE_TCP_RST_FLAG)
    f->state |= BOTH_DONE;
  else if (tcp->tcp_flags & RTE_TCP_FIN_FLAG)
    f->state |= (uint8_t)(FORWARD_DONE << reply);
  else if (payload || tcp->tcp_flags & RTE_TCP_SYN_FLAG)
    f->state &= (uint8_t)~(FORWARD_DONE << reply);
  if (payload)
    f->state |= (uint8_t)(FORWARD_DATA << reply);
}

static void rewrite_tcp(const struct click_rewriter *r, const struct view *v,
                        uint32_t number)
{
  struct click_flow *f = &r->flows->flow[number / 2];
  uint32_t reply = number % 2;
  if (!v->first || v->length < TCP_SUM)
    return;
  set_ports(v, f, reply);
  change_sum(v->l4 + 16, direct(f->l4_change, reply));
  note_state(f, v, reply);
  if (r->flows->deltas && v->length >= (v->l4[12] >> 4) * 4)
    pg_flow_deltas_apply(r->flows, number, v->l4, (uint32_t)v->length);
}

static void rewrite_ports(const struct view *v, struct click_flow *f, uint32_t reply)
{
  set_ports(v, f, reply);
  change_l4_sum(v, direct(f->l4_change, reply));
  f->state |= reply ? REPLIED : 0;
  if (f->state < ENOUGH)
    f->state += ONE_MORE;
}

/* The sum of nothing but zeros is 0xffff. */
static void rewrite_ping(const struct view *v, const struct click_flow *f,
                         uint32_t reply)
{
  const struct click_flow_key *back = &f->key[!reply];
  store16(v->l4 + 4, reply ? back->sport : back->dport);
  change_sum(v->l4 + 2, direct(f->l4_change, reply));
  if (load16(v->l4 + 2) != 0)
    return;
  for (int32_t i = 0; i < v->length; i++)
    if (v->l4[i])
      return;
  store16(v->l4 + 2, 0xffff);
}

static int32_t rewrite(const struct click_rewriter *r, struct packet *p,
                       const struct view *v, uint32_t number, int64_t now)
{
  struct click_flow *f = &r->flows->flow[number / 2];
  uint32_t reply = number % 2;
  flow_prefetch(r->flows, f, now);
  set_addresses(r, p, v, f, reply);
  switch (r->flows->kind[f->kind].how) {
  case REWRITE_TCP: rewrite_tcp(r, v, number); break;
  case REWRITE_PORTS: rewrite_ports(v, f, reply); break;
  case REWRITE_PING: rewrite_ping(v, f, reply); break;
  default:
    if (v->first)
      change_l4_sum(v, direct(f->l4_change, reply));
  }
  if (r->set_aggregate)
    p->note32[NOTE32_AGGREGATE] = f->number;
  flow_seen(r->flows, number / 2, now);
  return f->output[reply] + 1;
}

/* Rewrite a packet as its flow says. The output from 1 on; 0: the packet isn't of the
 * sort that this rewriter knows; -1: there is no mapping for it, r->key is its key and
 * r->kind the kind of its flow. */
int32_t pg_rewrite(struct click_rewriter *r, struct packet *p, int64_t now)
{
  struct view v;
  if (!look(p, &v))
    return 0;
  struct flow_words key;
  int32_t kind = key_of(r, &v, &key);
  if (kind < 0)
    return 0;
  uint32_t number = foreseen(r, p, kind, key);
  if (!number)
    number = find(r, kind, key, v.ip->dst_addr);
  if (number)
    return rewrite(r, p, &v, number, now);
  r->key = flow_key(key);
  r->kind = kind;
  r->protocol = v.ip->next_proto_id;
  /* Only requests make mappings. */
  if (r->how == REWRITE_PING && v.l4[0] != PING_REQUEST)
    return 0;
  return -1;
}

/* The same by a flow and direction, for a packet of that flow. */
int32_t pg_rewrite_by(const struct click_rewriter *r, struct packet *p,
                      uint32_t number, int64_t now)
{
  struct view v;
  return look(p, &v) ? rewrite(r, p, &v, number, now) : 0;
}

/* The flow and direction of packets with a protocol and key, or 0. Of a ping the key's
 * source port is the identifier; `reply` says that its key is that of replies. */
uint32_t pg_rewriter_find(const struct click_rewriter *r, uint8_t protocol,
                          const struct click_flow_key *given, bool reply)
{
  struct flow_words key = flow_words(given);
  int32_t kind = r->other;
  switch (r->how) {
  case REWRITE_SOURCE: key = words_of(given->source, 0); break;
  case REWRITE_ADDRESSES: key.ports = 0; break;
  case REWRITE_PING:
    if (protocol != IPPROTO_ICMP)
      return 0;
    key.ports = ports_of_ping(given->sport, reply);
    break;
  default:
    if (r->tcp >= 0 && r->other >= 0) {
      if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP)
        return 0;
      kind = protocol == IPPROTO_TCP ? r->tcp : r->other;
    } else if (r->tcp >= 0) {
      kind = r->tcp;
    }
  }
  uint32_t number = find(r, kind, key, given->destination);
  uint8_t own = number ? r->flows->flow[number / 2].protocol : 0;
  return own && own != protocol ? 0 : number;
}
