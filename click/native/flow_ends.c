/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses and ports of a packet's flow, and new ones for them, within the packet.
 */
#include <rte_hash_crc.h>
#include <rte_tcp.h>

#include "../../src/net/checksum/sum.h"
#include "flow_ends.h"
#include "rewrite_key.h"

enum { FLAGS = 13 }; /* where TCP has them */

bool pg_flow_ends(const struct packet *p, struct click_flow_ends *ends)
{
  struct view v;
  *ends = (struct click_flow_ends){0};
  if (!look(p, &v) || v.ip->version_ihl >> 4 != 4)
    return false;
  ends->source = v.ip->src_addr;
  ends->destination = v.ip->dst_addr;
  ends->protocol = v.ip->next_proto_id;
  if (!has_ports(&v))
    return false;
  ends->sport = load16(v.l4);
  ends->dport = load16(v.l4 + 2);
  if (ends->protocol == IPPROTO_TCP && v.length > FLAGS)
    ends->tcp_flags = v.l4[FLAGS];
  return true;
}

/* Put a word in its place; `change`, and what that adds to the sum. */
static uint16_t put(uint8_t *at, uint16_t word, uint16_t change)
{
  change = pg_add_change(change, load16(at), word);
  store16(at, word);
  return change;
}

static uint16_t put_address(struct view *v, bool destination, uint32_t address)
{
  uint8_t *at = (uint8_t *)(destination ? &v->ip->dst_addr : &v->ip->src_addr);
  uint16_t change = put(at, (uint16_t)address, 0);
  change = put(at + 2, (uint16_t)(address >> 16), change);
  v->ip->hdr_checksum = pg_changed_sum(v->ip->hdr_checksum, change);
  return change;
}

/* Only the first fragment has TCP's or UDP's header. */
static void change_sum(struct view *v, uint16_t change)
{
  uint8_t protocol = v->ip->next_proto_id;
  int32_t sum = (int32_t)pg_checksum_at(protocol);
  if (!v->first || (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP) ||
      v->length < sum + 2)
    return;
  store16(v->l4 + sum, pg_changed_l4_sum(protocol, load16(v->l4 + sum), change));
}

static bool set(struct packet *p, bool destination, uint32_t address,
                const uint16_t *port)
{
  struct view v;
  if (!look(p, &v) || v.ip->version_ihl >> 4 != 4)
    return false;
  uint16_t change = put_address(&v, destination, address);
  if (port && has_ports(&v))
    change = put(v.l4 + 2 * destination, *port, change);
  change_sum(&v, change);
  return true;
}

void pg_flow_set_end(struct packet *p, bool destination, uint32_t address, uint16_t port)
{
  set(p, destination, address, &port);
}

bool pg_flow_set_address(struct packet *p, bool destination, uint32_t address)
{
  return set(p, destination, address, NULL);
}

uint32_t pg_flow_crc(const struct click_flow_ends *ends)
{
  uint32_t crc = rte_hash_crc_4byte(ends->protocol, 0);
  crc = rte_hash_crc_4byte(ends->source, crc);
  crc = rte_hash_crc_4byte(ends->destination, crc);
  return rte_hash_crc_4byte(ends->sport | (uint32_t)ends->dport << 16, crc);
}
