/* SPDX-License-Identifier: Apache-2.0
 *
 * The fast way from the internet to the B4s: whole IPv4 packets, but no ICMP, that fit
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
  const uint8_t *frame = data_of(p), *ip = frame + ETHERNET;
  uint32_t n = (uint32_t)p->length - ETHERNET;
  if (p->length < ETHERNET + IP4 + PORTS || get16(frame + 12) != 0x0800 ||
      n + IP6 > path->mtu || p->length + IP6 > PACKET_MAX_PAYLOAD || ip[8] < 2)
    return false;
  struct ip4_start start = ip4_start(ip);
  *lookup = ip4_destination(&start);
  return likely(ip4_is_common(&start, n)) || has_options(ip, n, lookup);
}

static void stage(struct lwaftr_path *path, struct packet **packets, int n,
                  uint8_t *route)
{
  struct lookup lookups[STAGE];
  struct softwire_ends ends[STAGE];
  bool found[STAGE];
  struct lwaftr_sum in = {0};
  uint8_t at[STAGE];
  int wanted = 0;
  for (int i = 0; i < n; i++) {
    fetch_headers(packets, i, n, -IP6);
    route[i] = INET_SLOW;
    at[wanted] = (uint8_t)i;
    wanted += is_plain(path, packets[i], &lookups[wanted]);
  }
  find_ends(path, lookups, wanted, ends, found);
  for (int k = 0; k < wanted; k++) {
    struct packet *p = packets[at[k]];
    if (unlikely(!found[k]))
      continue;
    add_to(&in, p);
    uint8_t *ip = data_of(p) + ETHERNET;
    uint32_t bytes = (uint32_t)p->length - ETHERNET, tos = ip[1];
    count_down(ip);
    write_tunnel(path, open_room(p), tos, bytes, &ends[k]);
    route[at[k]] = INET_V6;
  }
  add_sum(&path->in, in);
  in.bytes += IP6 * in.packets;
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
