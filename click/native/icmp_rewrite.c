/* SPDX-License-Identifier: Apache-2.0
 *
 * Rewrites ICMP errors about packets that a rewriter has sent: the packet they quote
 * becomes what it was before, and they go to where it came from.
 */
#include <netinet/in.h>
#include <string.h>

#include <rte_icmp.h>
#include <rte_ip.h>

#include "../../src/native/api.h"
#include "../../src/net/checksum/sum.h"
#include "../../src/net/icmp/types.h"
#include "../../src/net/wire/wire.h"
#include "flow_table.h"
#include "ip.h"

enum { ECHO = 8, ICMP_SUM = 2 };

/* The error and what it quotes; `left` are the bytes of its transport header. */
struct quote {
  struct rte_ipv4_hdr *outer, *inner;
  uint8_t *icmp, *l4;
  int32_t left;
};

static bool look(const struct packet *p, struct quote *q)
{
  int32_t net = p->note16[NOTE16_NETWORK], l4 = p->note16[NOTE16_TRANSPORT];
  int32_t end = p->data_off + p->length, header = sizeof *q->outer;
  if (!net || l4 < net + header || l4 + ICMP_HEADER + header > end)
    return false;
  q->outer = (struct rte_ipv4_hdr *)(p->buf_addr + net);
  q->icmp = p->buf_addr + l4;
  q->inner = (struct rte_ipv4_hdr *)(q->icmp + ICMP_HEADER);
  header = (q->inner->version_ihl & 15) * 4;
  q->l4 = (uint8_t *)q->inner + header;
  q->left = end - l4 - ICMP_HEADER - header;
  return q->outer->next_proto_id == IPPROTO_ICMP && icmp4_is_error(q->icmp[0]) &&
         q->inner->version_ihl >> 4 == 4 && header >= (int32_t)sizeof *q->inner;
}

/* Write at `at`; what that adds to the sum. */
static uint16_t put(void *at, const void *value, size_t n, uint16_t change)
{
  uint16_t before[4], after[4];
  memcpy(before, at, n);
  memcpy(at, value, n);
  memcpy(after, value, n);
  for (size_t i = 0; i < n / 2; i++)
    change = pg_add_change(change, before[i], after[i]);
  return change;
}

/* The key of replies to the quoted packet. True if its transport header counts. */
static bool reply_key(const struct quote *q, struct click_flow_key *key)
{
  uint8_t protocol = q->inner->next_proto_id;
  *key = (struct click_flow_key){q->inner->dst_addr, q->inner->src_addr, 0, 0};
  if (q->inner->fragment_offset & rte_cpu_to_be_16(IP4_OFFSET))
    return false;
  if (protocol == IPPROTO_ICMP && q->left >= 6 && q->l4[0] == ECHO) {
    key->sport = load16(q->l4 + 4);
    return true;
  }
  if ((protocol != IPPROTO_TCP && protocol != IPPROTO_UDP && protocol != IPPROTO_DCCP) ||
      q->left < 8)
    return false;
  key->sport = load16(q->l4 + 2);
  key->dport = load16(q->l4);
  return true;
}

/* Change a checksum in the quoted packet, of a protocol's header (0: IPv4's); what that
 * adds to the sum of the error. */
static uint16_t change_sum(void *at, uint32_t protocol, uint16_t change, uint16_t outer)
{
  uint16_t sum = pg_changed_l4_sum(protocol, load16(at), change);
  return put(at, &sum, sizeof sum, outer);
}

/* What the changes of the quoted packet's addresses (`addresses`) and of its ports add
 * to the sum of the error. */
static uint16_t rewrite_l4(const struct quote *q, const struct click_flow_key *own,
                           uint16_t addresses)
{
  uint8_t protocol = q->inner->next_proto_id;
  if (protocol == IPPROTO_ICMP) {
    uint16_t change = put(q->l4 + 4, &own->dport, sizeof own->dport, 0);
    return change_sum(q->l4 + ICMP_SUM, protocol, change, change);
  }
  uint16_t change = put(q->l4, &own->dport, sizeof own->dport, 0);
  change = put(q->l4 + 2, &own->sport, sizeof own->sport, change);
  uint16_t outer = change;
  change = pg_add_change(change, 0, addresses);
  bool sums = protocol == IPPROTO_UDP ||
              (protocol == IPPROTO_TCP && q->left >= TCP_CHECKSUM + 2);
  return sums ? change_sum(q->l4 + pg_checksum_at(protocol), protocol, change, outer)
              : outer;
}

static uint32_t find(struct click_quoted *q, uint8_t protocol,
                     const struct click_flow_key *key)
{
  for (q->map = 0; q->map < q->n; q->map++) {
    uint32_t number = pg_rewriter_find(q->maps[q->map], protocol, key, true);
    if (number)
      return number;
  }
  return 0;
}

static void rewrite_outer(struct packet *p, const struct quote *q, uint32_t destination,
                          bool set_destination)
{
  uint16_t sum = q->outer->hdr_checksum;
  uint16_t change = put(&q->outer->dst_addr, &destination, sizeof destination, 0);
  q->outer->hdr_checksum = pg_changed_sum(sum, change);
  if (set_destination)
    p->note32[NOTE32_DST_IP] = destination;
}

/* Rewrite an error by the first of the rewriters that knows the packet it quotes: the
 * number of the flow and direction, q->map is the rewriter's; or 0. */
uint32_t pg_rewrite_icmp(struct click_quoted *q, struct packet *p,
                         bool set_destination, int32_t reply_note)
{
  struct quote quote;
  struct click_flow_key key;
  if (!look(p, &quote))
    return 0;
  bool with_l4 = reply_key(&quote, &key);
  uint32_t number = find(q, quote.inner->next_proto_id, &key);
  if (!number)
    return 0;
  const struct click_flow *f = &q->maps[q->map]->flows->flow[number / 2];
  const struct click_flow_key *back = &f->key[!(number % 2)];
  /* What a reply is rewritten to: from and to where. */
  struct click_flow_key own = {back->destination, back->source, back->dport,
                               back->sport};
  if (q->maps[q->map]->how == REWRITE_SOURCE)
    own.source = key.source; /* such a flow has one address */
  if (quote.outer->dst_addr == key.destination)
    rewrite_outer(p, &quote, own.destination, set_destination);
  if (number % 2 && reply_note >= 0)
    p->note8[reply_note] = f->reply_note;
  uint16_t addresses = put(&quote.inner->src_addr, &own.destination, 4, 0);
  addresses = put(&quote.inner->dst_addr, &own.source, 4, addresses);
  uint16_t outer =
    change_sum(&quote.inner->hdr_checksum, 0, addresses, addresses);
  if (with_l4)
    outer = pg_add_change(outer, 0, rewrite_l4(&quote, &own, addresses));
  uint16_t sum = pg_changed_sum(load16(quote.icmp + ICMP_SUM), outer);
  store16(quote.icmp + ICMP_SUM, sum);
  return number;
}
