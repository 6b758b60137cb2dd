/* SPDX-License-Identifier: Apache-2.0
 *
 * The fast path from the internet to the B4s: entire IPv4 packets, but no ICMP, that fit
 * into the tunnel and whose softwire is found. All of a stage are looked up before the
 * first is written to.
 */
#include <rte_branch_prediction.h>

#include "tunnel.h"

enum { STAGE = 64 };         /* packets whose headers the first cache holds */

/* Is an IPv4 packet of `n` bytes for the fast way by its ports behind options? Fills in
 * what it is looked up by. */
static bool has_options(const uint8_t *ip, uint32_t n, struct lookup *lookup)
{
  uint32_t header = ip4_with_options(ip, n);
  lookup->port = (uint16_t)get16(ip + header + 2);
  return header != 0;
}

/* Is it a packet for the fast way? Fills in what it is looked up by. */
static inline bool is_plain(const struct lwaftr_path *path, const struct packet *p,
                            struct lookup *lookup)
{
  const uint8_t *frame = data_of(p), *ip = frame + ETHERNET_HEADER;
  uint32_t n = (uint32_t)p->length - ETHERNET_HEADER;
  if (p->length < ETHERNET_HEADER + IP4_HEADER + PORTS_BYTES ||
      get16(frame + 12) != TYPE_IP4 || n + IP6_HEADER > path->mtu ||
      p->length + IP6_HEADER > PACKET_MAX_PAYLOAD || ip[8] < 2)
    return false;
  struct ip4_start start = ip4_start(ip);
  *lookup = ip4_destination(&start);
  return likely(ip4_is_common(&start, n)) || has_options(ip, n, lookup);
}

/* The packets of a stage that may be for the fast way, and what they are looked up by. */
struct wanted {
  struct packet *packets[STAGE];
  struct lookup lookups[STAGE];
  uint8_t at[STAGE];
  int count;
};

/* Encapsulate the packet for the B4 that it is found to be for. */
static inline void encapsulate(const struct lwaftr_path *path, struct packet *p,
                               struct softwire_ends ends)
{
  uint8_t *ip = data_of(p) + ETHERNET_HEADER;
  uint32_t bytes = (uint32_t)p->length - ETHERNET_HEADER, tos = ip[1];
  count_down(ip);
  write_tunnel(path, open_room(p), tos, bytes, &ends);
}

/* Encapsulate those from number `k` on that have softwires, as long as the table stays as
 * it is while they are looked up; the number of the first that is left. */
static int encapsulate_some(const struct lwaftr_path *path,
                            struct softwire_table *table, const struct wanted *wanted,
                            int k, uint8_t *route, struct lwaftr_sum *in)
{
  struct found found[STAGE];
  uint32_t sequence = softwires_begin_read(table);
  softwires_look(table, wanted->lookups + k, wanted->count - k, found + k);
  for (; k < wanted->count; k++) {
    struct softwire_ends ends;
    bool there = is_found(&found[k]);
    if (likely(there))
      ends = *found[k].record;
    if (unlikely(!softwires_end_read(table, sequence)))
      return k;
    if (unlikely(!there))
      continue;
    add_to(in, wanted->packets[k]);
    encapsulate(path, wanted->packets[k], ends);
    route[wanted->at[k]] = INET_V6;
  }
  return k;
}

static void stage(struct lwaftr_path *path, struct packet **packets, int n,
                  uint8_t *route)
{
  struct wanted wanted;
  struct lwaftr_sum in = {0};
  int count = 0;
  for (int i = 0; i < n; i++) {
    fetch_headers(packets, i, n, -IP6_HEADER);
    route[i] = INET_SLOW;
    wanted.at[count] = (uint8_t)i;
    wanted.packets[count] = packets[i];
    count += is_plain(path, packets[i], &wanted.lookups[count]);
  }
  wanted.count = count;
  struct softwire_table *table = binding_enter(path);
  for (int k = 0; k < count;)
    k = encapsulate_some(path, table, &wanted, k, route, &in);
  binding_leave(path);
  add_sum(&path->in, in);
  in.bytes += IP6_HEADER * in.packets;
  add_sum(&path->out, in);
}

/* Packets from the internet: those that are for the fast way are encapsulated. */
void pg_lwaftr_inet(struct lwaftr_path *path, struct packet **packets, int n,
                    uint8_t *route)
{
  path->in = path->out = (struct lwaftr_sum){0};
  if (!path->known6) {
    memset(route, INET_SLOW, (size_t)n);
    return;
  }
  for (int i = 0; i < n; i += STAGE)
    stage(path, packets + i, RTE_MIN(n - i, (int)STAGE), route + i);
  count(&path->in_counts, path->in);
  count(&path->out6_counts, path->out);
}
