/* SPDX-License-Identifier: Apache-2.0
 *
 * The fast way from the B4s to the internet, or straight to another B4: whole IPv4
 * packets, but no ICMP, that come through the tunnel of their softwire and fit where
 * they go. All of a stage are looked up before the first is written to.
 */
#include <rte_branch_prediction.h>

#include "tunnel.h"

enum { STAGE = 64 };         /* packets whose headers the first cache holds */

/* Is it a packet for the fast way? Fills in what its two ends are looked up by. */
static inline bool is_plain(const struct lwaftr_path *path, const struct packet *p,
                            struct lookup *source, struct lookup *destination)
{
  const uint8_t *frame = data_of(p), *ip6 = frame + ETHERNET, *ip = ip6 + IP6;
  if (p->length < ETHERNET + IP6 + IP4 + PORTS || get16(frame + 12) != 0x86dd)
    return false;
  uint32_t n = (uint32_t)p->length - ETHERNET - IP6, header = ip4_header(ip, n);
  if (ip6[6] != PROTOCOL_IP4 || get16(ip6 + 4) > n || header == 0 ||
      n < header + PORTS || n > path->mtu4 || ip[9] == PROTOCOL_ICMP ||
      get16(ip + 6) & MORE_OR_OFFSET)
    return false;
  source->ipv4 = get32(ip + 12);
  source->port = (uint16_t)get16(ip + header);
  source->wanted = true;
  destination->ipv4 = get32(ip + 16);
  destination->port = (uint16_t)get16(ip + header + 2);
  destination->wanted = path->hairpinning;
  return true;
}

/* From one B4 to another, if it needs no error. */
static inline int turn_back(struct lwaftr_path *path, struct packet *p,
                            const struct lookup *to, const struct softwire_ends *ends)
{
  uint8_t *frame = data_of(p), *ip = frame + ETHERNET + IP6;
  uint32_t n = (uint32_t)p->length - ETHERNET - IP6;
  if (!to->found || ip[8] < 2 || n + IP6 > path->mtu || !path->known6)
    return B4_SLOW;
  add_to(&path->in, p);
  count_down(ip);
  write_tunnel(path, frame, ip[1], n, ends);
  path->hairpin.packets++;
  path->hairpin.bytes += p->length - IP6;
  return B4_V6;
}

static inline int let_out(struct lwaftr_path *path, struct packet *p)
{
  if (unlikely(!path->known4))
    return B4_SLOW;
  add_to(&path->in, p);
  leave_tunnel(path, p);
  add_to(&path->out, p);
  return B4_V4;
}

static void stage(struct lwaftr_path *path, struct softwire_table *table,
                  struct packet **packets, int n, uint8_t *route)
{
  struct lookup lookups[2 * STAGE]; /* of sources, of destinations */
  struct softwire_ends ends[2 * STAGE];
  uint8_t at[STAGE];
  int wanted = 0;
  for (int i = 0; i < n; i++) {
    fetch_header(packets, i, n);
    route[i] = B4_SLOW;
    at[wanted] = (uint8_t)i;
    wanted += is_plain(path, packets[i], &lookups[2 * wanted],
                       &lookups[2 * wanted + 1]);
  }
  softwires_find_burst(table, lookups, 2 * wanted, ends);
  for (int k = 0; k < wanted; k++) {
    struct packet *p = packets[at[k]];
    const struct lookup *from = &lookups[2 * k], *to = from + 1;
    if (unlikely(!from->found || !is_from(data_of(p) + ETHERNET, &ends[2 * k])))
      continue;
    bool turns = path->hairpinning && to->managed;
    route[at[k]] = (uint8_t)(turns ? turn_back(path, p, to, &ends[2 * k + 1])
                                   : let_out(path, p));
  }
}

/* Packets from B4s: those that are for the fast way are decapsulated, and those for
 * other B4s encapsulated for these. */
void pg_lwaftr_b4(struct lwaftr_path *path, struct packet **packets, int n,
                  uint8_t *route)
{
  path->in = path->out = path->hairpin = (struct lwaftr_sum){0};
  struct softwire_table *table = binding_enter(path);
  for (int i = 0; i < n; i += STAGE)
    stage(path, table, packets + i, RTE_MIN(n - i, (int)STAGE), route + i);
  binding_leave(path);
}
