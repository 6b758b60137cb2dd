/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets on their way into a tunnel, and out of it.
 */
#pragma once

#include "binding.h"
#include "path.h"

/* Count the time to live, at least 1, down by one, and mend the checksum (RFC 1624,
 * equation 3, in the order of bytes that is there: section 2 of RFC 1071): as the field
 * gets less by 1, ~(~sum + ~1) is the sum and 1, with the carry. */
static inline void count_down(uint8_t *ip)
{
  uint16_t checksum;
  memcpy(&checksum, ip + 10, sizeof checksum);
  checksum = (uint16_t)(checksum + RTE_BE16(0x0100) + (checksum >= RTE_BE16(0xfeff)));
  ip[8]--;
  memcpy(ip + 10, &checksum, sizeof checksum);
}

/* The packet's length, both of DPDK's: a port needn't write the second then. */
static inline void set_length(struct packet *p, uint32_t length)
{
  p->length = (uint16_t)length;
  p->pkt_len = length;
}

/* Room for an IPv6 header before the packet's IPv4. */
static inline uint8_t *open_room(struct packet *p)
{
  if (p->data_off < IP6_HEADER) {
    memmove(p->buf_addr + PACKET_HEADROOM + IP6_HEADER, data_of(p), p->length);
    p->data_off = PACKET_HEADROOM + IP6_HEADER;
  }
  p->data_off -= IP6_HEADER;
  set_length(p, p->length + IP6_HEADER);
  return data_of(p);
}

/* Ethernet's and the tunnel's header of a packet to a B4, which has `n` bytes of IPv4. */
static inline void write_tunnel(const struct lwaftr_path *path, uint8_t *frame,
                                uint32_t tos, uint32_t n,
                                const struct softwire_ends *ends)
{
  uint8_t *ip6 = frame + ETHERNET_HEADER;
  uint32_t first = 6u << 28 | tos << 20 | path->flow_label;
  uint64_t start = rte_cpu_to_be_64((uint64_t)first << 32 | n << 16 |
                                    IPPROTO_IPIP << 8 | 255);
  memcpy(frame, path->macs6, sizeof path->macs6);
  memcpy(ip6, &start, sizeof start);
  memcpy(ip6 + 8, ends->br, 16);
  memcpy(ip6 + 24, ends->b4, 16);
}

/* Take the tunnel's header off. */
static inline void leave_tunnel(const struct lwaftr_path *path, struct packet *p)
{
  p->data_off += IP6_HEADER;
  set_length(p, p->length - IP6_HEADER);
  if (p->data_off > PACKET_MAX_HEADROOM) {
    memmove(p->buf_addr + PACKET_HEADROOM, data_of(p), p->length);
    p->data_off = PACKET_HEADROOM;
  }
  memcpy(data_of(p), path->macs4, sizeof path->macs4);
}

/* Look `n` up: which are found, and the ends of these. */
static inline void find_ends(const struct lwaftr_path *path,
                             const struct lookup *lookups, int n,
                             struct softwire_ends *ends, bool *is_there)
{
  struct softwire_table *table = binding_enter(path);
  struct found found[PATH_BURST];
  uint32_t sequence;
  do {
    sequence = softwires_begin_read(table);
    softwires_look(table, lookups, n, found);
    for (int i = 0; i < n; i++) {
      is_there[i] = is_found(&found[i]);
      if (is_there[i])
        ends[i] = *found[i].record;
    }
  } while (!softwires_end_read(table, sequence));
  binding_leave(path);
}

/* Does the packet come from the softwire's B4, and to its border router? */
static inline bool is_from(const uint8_t *ip6, const struct softwire_ends *ends)
{
  uint64_t a[4], b[4];
  static_assert(sizeof *ends == sizeof a && offsetof(struct softwire_ends, b4) == 0,
                "they are as in the header: the B4's, and the border router's behind it");
  memcpy(a, ip6 + 8, sizeof a);
  memcpy(b, ends, sizeof b);
  return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
}

static inline void add_to(struct lwaftr_sum *sum, const struct packet *p)
{
  sum->packets++;
  sum->bytes += p->length;
}

static inline void add_sum(struct lwaftr_sum *sum, struct lwaftr_sum more)
{
  sum->packets += more.packets;
  sum->bytes += more.bytes;
}

static inline void count(const struct lwaftr_counts *counts, struct lwaftr_sum sum)
{
  counts->packets->c += sum.packets;
  counts->bytes->c += sum.bytes;
  if (counts->untouched)
    counts->untouched->c += sum.packets;
}
