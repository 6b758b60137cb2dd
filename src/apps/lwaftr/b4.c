/* SPDX-License-Identifier: Apache-2.0
 *
 * The fast way from the B4s to the internet, or straight to another B4: whole IPv4
 * packets, but no ICMP, that come through the tunnel of their softwire and fit where
 * they go. All of a stage are looked up before the first is written to.
 */
#include <rte_branch_prediction.h>

#include "tunnel.h"

enum {
  STAGE = 64,                /* packets whose headers the first cache holds */
  NOBODY = 2 * STAGE         /* of lookups: for nobody */
};

/* Is an IPv4 packet of `n` bytes for the fast way by its ports behind options? Fills in
 * what its two ends are looked up by. */
static bool has_options(const uint8_t *ip, uint32_t n, struct lookup *source,
                        struct lookup *destination)
{
  uint32_t header = ip4_with_options(ip, n);
  source->port = (uint16_t)get16(ip + header);
  destination->port = (uint16_t)get16(ip + header + 2);
  return header != 0;
}

/* Is it a packet for the fast way? Fills in what its two ends are looked up by. */
static inline bool is_plain(const struct lwaftr_path *path, const struct packet *p,
                            struct lookup *source, struct lookup *destination)
{
  const uint8_t *frame = data_of(p), *ip6 = frame + ETHERNET, *ip = ip6 + IP6;
  uint32_t n = (uint32_t)p->length - ETHERNET - IP6;
  if (p->length < ETHERNET + IP6 + IP4 + PORTS || get16(frame + 12) != 0x86dd ||
      ip6[6] != PROTOCOL_IP4 || get16(ip6 + 4) > n || n > path->mtu4)
    return false;
  struct ip4_start start = ip4_start(ip);
  *source = ip4_source(&start);
  *destination = ip4_destination(&start);
  return likely(ip4_is_common(&start, n)) || has_options(ip, n, source, destination);
}

/* Is a packet from one B4 to another one that needs no error? */
static inline bool may_turn(const struct lwaftr_path *path, const struct packet *p)
{
  const uint8_t *ip = data_of(p) + ETHERNET + IP6;
  return path->known6 && ip[8] >= 2 && p->length <= path->mtu + ETHERNET;
}

/* Where a packet goes by what its ends are looked up to be. The ends of the B4 that it
 * turns back to, if it does, go into `to`. */
static inline int route_of(const struct lwaftr_path *path, const struct packet *p,
                           const struct found *from, const struct found *onto,
                           struct softwire_ends *to)
{
  if (unlikely(!is_found(from) || !is_from(data_of(p) + ETHERNET, from->record)))
    return B4_SLOW;
  if (likely(!onto->managed))
    return likely(path->known4) ? B4_V4 : B4_SLOW;
  if (!is_found(onto) || !may_turn(path, p))
    return B4_SLOW;
  *to = *onto->record;
  return B4_V6;
}

/* The packets of a stage that may be for the fast way: what their sources are looked up
 * by, and behind them room for those destinations that are, too. */
struct wanted {
  struct packet *packets[STAGE];
  struct lookup lookups[2 * STAGE], destinations[STAGE];
  int count;
};

/* Add the destinations that the table may have to the lookups, if packets turn back to
 * B4s at all; how many these are then. `onto`: which lookup is each packet's, or NOBODY. */
static int look_onto(const struct lwaftr_path *path, const struct softwire_table *table,
                     struct wanted *wanted, uint8_t *onto)
{
  int m = wanted->count;
  for (int k = 0; k < wanted->count; k++) {
    bool may = path->hairpinning & softwires_may_have(table, wanted->destinations[k].ipv4);
    wanted->lookups[m] = wanted->destinations[k];
    onto[k] = may ? (uint8_t)m : NOBODY;
    m += may;
  }
  return m;
}

/* Find out where packets go. */
static void find_routes(const struct lwaftr_path *path, struct wanted *wanted,
                        uint8_t *routes, struct softwire_ends *to)
{
  struct softwire_table *table = binding_enter(path);
  struct found found[2 * STAGE + 1];
  uint8_t onto[STAGE];
  uint32_t sequence;
  found[NOBODY] = (struct found){NULL, false};
  do {
    sequence = softwires_begin_read(table);
    softwires_look(table, wanted->lookups, look_onto(path, table, wanted, onto), found);
    for (int k = 0; k < wanted->count; k++)
      routes[k] = (uint8_t)route_of(path, wanted->packets[k], &found[k],
                                    &found[onto[k]], &to[k]);
  } while (!softwires_end_read(table, sequence));
  binding_leave(path);
}

static void turn_back(const struct lwaftr_path *path, struct packet *p,
                      const struct softwire_ends *to, struct lwaftr_sum *hairpin)
{
  uint8_t *frame = data_of(p), *ip = frame + ETHERNET + IP6;
  count_down(ip);
  write_tunnel(path, frame, ip[1], (uint32_t)p->length - ETHERNET - IP6, to);
  add_to(hairpin, p);
}

static void stage(struct lwaftr_path *path, struct packet **packets, int n,
                  uint8_t *route)
{
  struct wanted wanted;
  struct softwire_ends to[STAGE];
  struct lwaftr_sum in = {0}, hairpin = {0};
  uint8_t at[STAGE], routes[STAGE];
  int count = 0;
  for (int i = 0; i < n; i++) {
    fetch_headers(packets, i, n, ETHERNET + IP6);
    route[i] = B4_SLOW;
    at[count] = (uint8_t)i;
    wanted.packets[count] = packets[i];
    count += is_plain(path, packets[i], &wanted.lookups[count],
                      &wanted.destinations[count]);
  }
  wanted.count = count;
  find_routes(path, &wanted, routes, to);
  for (int k = 0; k < count; k++) {
    struct packet *p = wanted.packets[k];
    route[at[k]] = routes[k];
    if (routes[k] == B4_SLOW)
      continue;
    add_to(&in, p);
    if (likely(routes[k] == B4_V4))
      leave_tunnel(path, p);
    else
      turn_back(path, p, &to[k], &hairpin);
  }
  add_sum(&path->in, in);
  add_sum(&path->hairpin, hairpin);
}

/* Packets from B4s: those that are for the fast way are decapsulated, and those for
 * other B4s encapsulated for these. */
void pg_lwaftr_b4(struct lwaftr_path *path, struct packet **packets, int n,
                  uint8_t *route)
{
  path->in = path->out = path->hairpin = (struct lwaftr_sum){0};
  for (int i = 0; i < n; i += STAGE)
    stage(path, packets + i, RTE_MIN(n - i, (int)STAGE), route + i);
  struct lwaftr_sum hairpin = path->hairpin;
  uint64_t left = path->in.packets - hairpin.packets;
  path->out = (struct lwaftr_sum){left, path->in.bytes - hairpin.bytes - IP6 * left};
  path->hairpin.bytes -= IP6 * hairpin.packets;
  count(&path->in_counts, path->in);
  count(&path->out4_counts, path->out);
  count(&path->hairpin_counts, path->hairpin);
  count(&path->out6_counts, hairpin);
}
