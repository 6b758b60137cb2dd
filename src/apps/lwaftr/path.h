/* SPDX-License-Identifier: Apache-2.0
 *
 * What the paths through the lwAFTR share: reading headers, and looking up a burst.
 */
#pragma once

#include <netinet/in.h>

#include "../../native/api.h"
#include "../../net/icmp/types.h"
#include "../../net/wire/ports.h"
#include "../../net/wire/wire.h"
#include "softwires.h"

enum {
  ECHO_REPLY = 0, ECHO_REQUEST = 8, /* types of ICMPv4 */
  AHEAD = 8                  /* packets whose headers are fetched before their turn */
};

static inline uint8_t *data_of(const struct packet *p)
{
  return p->buf_addr + p->data_off;
}

static inline void fetch_header(struct packet **packets, int i, int n)
{
  if (i + AHEAD < n)
    rte_prefetch0(data_of(packets[i + AHEAD]));
}

/* The same with the line `offset` bytes from there. */
static inline void fetch_headers(struct packet **packets, int i, int n, int offset)
{
  if (i + AHEAD < n) {
    rte_prefetch0(data_of(packets[i + AHEAD]));
    rte_prefetch0(data_of(packets[i + AHEAD]) + offset);
  }
}

/* The IPv4 header's length if a packet that has `n` bytes is as it says (RFC 1812,
 * section 5.2.2), else 0. */
static inline uint32_t ip4_header(const uint8_t *ip, uint32_t n)
{
  if (n < IP4_HEADER || ip[0] >> 4 != 4)
    return 0;
  uint32_t header = (ip[0] & 15u) * 4, total = get16(ip + 2);
  return header >= IP4_HEADER && header <= total && total <= n ? header : 0;
}

/* The start of an IPv4 packet, read at once: by its words it is soon seen whether it has
 * no options, which nearly all haven't, and the ports are at a known place then. */
struct ip4_start { uint64_t length_and_offset, protocol_and_source, destination_and_ports; };

static inline struct ip4_start ip4_start(const uint8_t *ip)
{
  return (struct ip4_start){get64(ip), get64(ip + 8), get64(ip + 16)};
}

/* Is a packet that has `n` bytes, at least IP4_HEADER + PORTS_BYTES, as it says, without
 * options, whole, and not ICMP? */
static inline bool ip4_is_common(const struct ip4_start *ip, uint32_t n)
{
  enum { TO_SHAPE = 56, TO_LENGTH = 32, TO_PROTOCOL = 48 };
  uint32_t total = (uint16_t)(ip->length_and_offset >> TO_LENGTH);
  return ip->length_and_offset >> TO_SHAPE == 0x45 &&
         total - IP4_HEADER <= n - IP4_HEADER &&
         (ip->length_and_offset & IP4_PART) == 0 &&
         (uint8_t)(ip->protocol_and_source >> TO_PROTOCOL) != IPPROTO_ICMP;
}

/* The header's length of a packet that is so but for its options, else 0. */
static inline uint32_t ip4_with_options(const uint8_t *ip, uint32_t n)
{
  uint32_t header = ip4_header(ip, n);
  bool plain = n >= header + PORTS_BYTES && ip[9] != IPPROTO_ICMP &&
    !(get16(ip + IP4_FRAGMENT) & IP4_PART);
  return plain ? header : 0;
}

/* What a packet is looked up by. */
struct lookup { uint32_t ipv4; uint16_t port; };

/* The ends of one that is common. */
static inline struct lookup ip4_source(const struct ip4_start *ip)
{
  return (struct lookup){(uint32_t)ip->protocol_and_source,
                         (uint16_t)(ip->destination_and_ports >> 16)};
}

static inline struct lookup ip4_destination(const struct ip4_start *ip)
{
  return (struct lookup){(uint32_t)(ip->destination_and_ports >> 32),
                         (uint16_t)ip->destination_and_ports};
}

/* What is found: a record, which may be empty, or NULL; and do packets to the address
 * reach softwires? */
struct found { const struct softwire_ends *record; bool managed; };

/* lookup.c */
void softwires_look(struct softwire_table *table, const struct lookup *lookups, int n,
                    struct found *found);
int32_t embedded_port(const uint8_t *icmp, uint32_t n);

static inline bool is_found(const struct found *found)
{
  return found->record && softwire_is_there(found->record);
}
