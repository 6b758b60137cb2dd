/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes addresses and ports in packets. Checksums change by what changed (RFC 1624), so
 * those of fragments and of cut packets are right, too, and wrong ones stay wrong.
 */
#include <netinet/in.h>
#include <string.h>

#include "../../native/api.h"
#include "../../net/checksum/checksum.h"
#include "../../net/checksum/sum.h"
#include "../../net/ip/transport.h"
#include "../../net/wire/ports.h"
#include "../../net/wire/vlan_tags.h"
#include "../../net/wire/wire.h"
#include "rewrite.h"

enum { ARP_SENDER = 8, ARP_TARGET = 18, ARP_IP4 = 28 }; /* RFC 826; length of the whole */
enum { ICMP_HEADER = 8, SCTP_CHECKSUM = 8, SCTP_HEADER = 12 };
enum { ICMP6_LAST_ERROR = 4, ND_ROUTER_SOLICIT = 133, ND_REDIRECT = 137 };

struct work { struct rewrite *r; uint8_t *data; uint32_t n; bool changed; };

static uint8_t *frame_of(const struct packet *p) { return p->buf_addr + p->data_off; }

/* The two sums of ones' complement together. */
static uint16_t add(uint16_t a, uint16_t b) { return pg_add_change(a, UINT16_MAX, b); }

/* Put `n` bytes in their place; what that adds to a sum. */
static uint16_t put(struct work *w, uint8_t *at, const uint8_t *fresh, uint32_t n)
{
  uint16_t change = 0;
  if (!memcmp(at, fresh, n))
    return 0;
  for (uint32_t i = 0; i < n; i += 2) {
    change = pg_add_change(change, load16(at + i), load16(fresh + i));
    store16(at + i, load16(fresh + i));
  }
  w->changed = true;
  return change;
}

/* The checksum at `at` after `change`; what that adds to a sum it is in itself. */
static uint16_t put_checksum(uint8_t *at, uint32_t protocol, uint16_t change)
{
  uint16_t old = load16(at);
  if (change == 0)
    return 0;
  uint16_t fresh = pg_changed_l4_sum(protocol, old, change);
  store16(at, fresh);
  return pg_add_change(0, old, fresh);
}

/* Of the maps that fit the first counts. */
static uint16_t map_ip(struct work *w, uint8_t *address, uint32_t version)
{
  for (uint32_t i = 0; i < w->r->ips; i++) {
    const struct rewrite_ip *m = &w->r->ip[i];
    if (m->version != version || !in_prefix(address, m->from, m->length))
      continue;
    uint8_t fresh[16];
    uint32_t n = version == 4 ? 4 : 16;
    for (uint32_t k = 0; k < n; k++) {
      int bits = (int)m->to_length - (int)k * 8;
      uint8_t mask = bits >= 8 ? 0xff : bits <= 0 ? 0 : (uint8_t)(0xff00 >> bits);
      fresh[k] = (m->to[k] & mask) | (address[k] & ~mask);
    }
    return put(w, address, fresh, n);
  }
  return 0;
}

static uint16_t map_mac(struct work *w, uint8_t *mac)
{
  for (uint32_t i = 0; i < w->r->macs; i++)
    if (!memcmp(mac, w->r->mac[i].from, 6))
      return put(w, mac, w->r->mac[i].to, 6);
  return 0;
}

static uint16_t map_port(struct work *w, uint8_t *port)
{
  uint8_t fresh[2];
  put16(fresh, w->r->port[get16(port)]);
  return put(w, port, fresh, 2);
}

/* Where the checksum is, in bytes; 0: none that changes by words. */
static uint32_t checksum_at(uint32_t protocol)
{
  if (protocol == IPPROTO_UDPLITE || protocol == IPPROTO_DCCP)
    return 6; /* RFC 3828, section 3.1; RFC 4340, section 5.1 */
  return pg_checksum_at(protocol);
}

static uint16_t ip(struct work *w, uint32_t at, bool inner);

/* The packet that an ICMP error is about; what that adds to the error's sum. */
static uint16_t icmp(struct work *w, const struct transport *t, uint8_t *l4, uint32_t n)
{
  if (n < ICMP_HEADER || t->offset > 0)
    return 0;
  switch (l4[0]) {
  case 5: return add(map_ip(w, l4 + 4, 4), ip(w, t->l4 + ICMP_HEADER, true)); /* redirect */
  case 3: case 4: case 11: case 12: return ip(w, t->l4 + ICMP_HEADER, true);
  }
  return 0;
}

/* Neighbour discovery: targets and link-layer addresses (RFC 4861, section 4). */
static uint16_t discovery(struct work *w, uint8_t *l4, uint32_t n)
{
  static const uint8_t options[] = {8, 16, 24, 24, 40};
  uint32_t at = options[l4[0] - ND_ROUTER_SOLICIT];
  uint16_t change = 0;
  if (n < at)
    return 0;
  for (uint32_t target = 8; at >= 24 && target < at; target += 16)
    change = add(change, map_ip(w, l4 + target, 6));
  while (at + 8 <= n && l4[at + 1] > 0) {
    if (l4[at] == 1 || l4[at] == 2)
      change = add(change, map_mac(w, l4 + at + 2));
    at += l4[at + 1] * 8;
  }
  return change;
}

static uint16_t icmp6(struct work *w, const struct transport *t, uint8_t *l4, uint32_t n)
{
  if (n < ICMP_HEADER || t->offset > 0)
    return 0;
  if (l4[0] >= 1 && l4[0] <= ICMP6_LAST_ERROR)
    return ip(w, t->l4 + ICMP_HEADER, true);
  return l4[0] >= ND_ROUTER_SOLICIT && l4[0] <= ND_REDIRECT ? discovery(w, l4, n) : 0;
}

/* SCTP's checksum is one of all its bytes (RFC 9260, section 6.8). */
static void sctp(struct work *w, const struct transport *t, uint8_t *l4, uint32_t n)
{
  if (t->fragment || t->cut || n < SCTP_HEADER) {
    w->r->stale++;
    return;
  }
  memset(l4 + SCTP_CHECKSUM, 0, 4);
  uint32_t sum = rte_cpu_to_le_32(pg_crc32c(l4, n, 0));
  memcpy(l4 + SCTP_CHECKSUM, &sum, 4);
}

/* What IP carries, after its addresses added `pseudo`; what that adds to a sum. */
static uint16_t transport(struct work *w, const struct transport *t, uint16_t pseudo,
                          bool inner)
{
  uint8_t *l4 = w->data + t->l4;
  uint32_t n = t->end > t->l4 ? t->end - t->l4 : 0, at = checksum_at(t->protocol);
  uint16_t change = 0;
  if (t->offset > 0 || n == 0)
    return 0;
  if (w->r->ports && has_ports(t->protocol) && n >= 4)
    change = add(map_port(w, l4), map_port(w, l4 + 2));
  else if (t->protocol == IPPROTO_ICMP && !inner)
    change = icmp(w, t, l4, n);
  else if (t->protocol == IPPROTO_ICMPV6 && !inner)
    change = icmp6(w, t, l4, n);
  if (t->protocol == IPPROTO_SCTP && change && !inner)
    sctp(w, t, l4, n);
  uint16_t sum = t->protocol == IPPROTO_ICMP ? change : add(change, pseudo);
  if (at > 0 && n >= at + 2)
    return add(change, put_checksum(l4 + at, t->protocol, sum));
  if (at > 0 && sum && !inner)
    w->r->stale++;
  return change;
}

/* The IP packet at `at`; what its changes add to a sum it is in. */
static uint16_t ip(struct work *w, uint32_t at, bool inner)
{
  struct transport t;
  if (!pg_transport_ip(&t, w->data, w->n, at))
    return 0;
  bool is4 = t.version == 4;
  uint8_t *header = w->data + at, *from = header + (is4 ? IP4_ADDRESSES : IP6_ADDRESSES);
  uint16_t source = map_ip(w, from, t.version);
  uint16_t destination = map_ip(w, from + (is4 ? 4 : 16), t.version);
  uint16_t both = add(source, destination), change = both;
  if (is4)
    change = add(change, put_checksum(header + IP4_CHECKSUM, 0, both));
  return add(change, transport(w, &t, t.routed ? source : both, inner));
}

static void arp(struct work *w, uint32_t at)
{
  uint8_t *arp = w->data + at;
  if (w->n < at + ARP_IP4 || get32(arp) != 0x00010800 || get16(arp + 4) != 0x0604)
    return;
  for (int i = ARP_SENDER; i <= ARP_TARGET; i += ARP_TARGET - ARP_SENDER) {
    map_mac(w, arp + i);
    map_ip(w, arp + i + 6, 4);
  }
}

/* Change what the maps say in the frame. */
void pg_rewrite_packet(struct rewrite *r, struct packet *p)
{
  struct work w = {r, frame_of(p), p->length, false};
  uint32_t at = 0, type = ethernet_type(w.data, w.n, TRANSPORT_TAGS, &at);
  if (w.n < ETHERNET_HEADER)
    return;
  map_mac(&w, w.data);
  map_mac(&w, w.data + 6);
  if (type == TYPE_IP4 || type == TYPE_IP6)
    ip(&w, at, false);
  else if (type == TYPE_ARP)
    arp(&w, at);
  r->changed += w.changed;
}

/* Compute the checksums of IPv4 and of TCP, UDP, ICMP or ICMPv6 anew, as far as the frame
 * has all that they cover; whether it had. */
bool pg_rewrite_checksums(struct packet *p)
{
  struct transport t;
  if (!pg_transport(&t, frame_of(p), p->length))
    return false;
  if (t.version == 4)
    pg_fill_ip4(p, t.ip);
  return !t.fragment && !t.cut && pg_fill_l4(p, t.ip, t.l4, t.protocol);
}
