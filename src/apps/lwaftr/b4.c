/* SPDX-License-Identifier: Apache-2.0
 *
 * The fast path from the B4s to the internet, or straight to another B4: entire IPv4
 * packets, but no ICMP, that come through the tunnel of their softwire and fit where
 * they go. All of a stage are looked up before the first is written to.
 */
#include <rte_branch_prediction.h>

#include "tunnel.h"

enum { STAGE = 64 };         /* packets whose headers the first cache holds */

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
  const uint8_t *frame = data_of(p), *ip6 = frame + ETHERNET_HEADER, *ip = ip6 + IP6_HEADER;
  uint32_t n = (uint32_t)p->length - ETHERNET_HEADER - IP6_HEADER;
  if (p->length < ETHERNET_HEADER + IP6_HEADER + IP4_HEADER + PORTS_BYTES ||
      get16(frame + 12) != TYPE_IP6 ||
      ip6[6] != IPPROTO_IPIP || get16(ip6 + 4) > n || n > path->mtu4)
    return false;
  struct ip4_start start = ip4_start(ip);
  *source = ip4_source(&start);
  *destination = ip4_destination(&start);
  return likely(ip4_is_common(&start, n)) || has_options(ip, n, source, destination);
}

/* Is a packet from one B4 to another one that needs no error? */
static inline bool may_turn(const struct lwaftr_path *path, const struct packet *p)
{
  const uint8_t *ip = data_of(p) + ETHERNET_HEADER + IP6_HEADER;
  return path->known6 && ip[8] >= 2 && p->length <= path->mtu + ETHERNET_HEADER;
}

/* The packets of a stage that may be for the fast way, and what their ends are looked up
 * by. */
struct wanted {
  struct packet *packets[STAGE];
  struct lookup sources[STAGE], destinations[STAGE];
  uint8_t at[STAGE];
  int count;
};

/* What has become of it: packets and bytes as they came, and those of the turned. */
struct sums { struct lwaftr_sum in, hairpin; };

/* Is a packet the softwire's that its source was found to be of? */
static inline bool is_its(const struct packet *p, const struct found *from)
{
  return likely(is_found(from)) &&
         likely(is_from(data_of(p) + ETHERNET_HEADER, from->record));
}

static inline void turn_back(const struct lwaftr_path *path, struct packet *p,
                             struct softwire_ends to, struct sums *sums)
{
  uint8_t *frame = data_of(p), *ip = frame + ETHERNET_HEADER + IP6_HEADER;
  add_to(&sums->in, p);
  count_down(ip);
  write_tunnel(path, frame, ip[1], (uint32_t)p->length - ETHERNET_HEADER - IP6_HEADER, &to);
  add_to(&sums->hairpin, p);
}

static inline void decapsulate(const struct lwaftr_path *path, struct packet *p,
                               struct sums *sums)
{
  add_to(&sums->in, p);
  leave_tunnel(path, p);
}

/* Send those from number `k` on to the internet, as long as the table stays as it is
 * while they are looked up; the number of the first that is left. */
static int send_on(const struct lwaftr_path *path, struct softwire_table *table,
                   const struct wanted *wanted, int k, uint8_t *route, struct sums *sums)
{
  struct found found[STAGE];
  int n = path->known4 ? wanted->count : 0;
  uint32_t sequence = softwires_begin_read(table);
  softwires_look(table, wanted->sources + k, n - k, found + k);
  for (; k < n; k++) {
    bool good = is_its(wanted->packets[k], &found[k]);
    if (unlikely(!softwires_end_read(table, sequence)))
      return k;
    if (unlikely(!good))
      continue;
    decapsulate(path, wanted->packets[k], sums);
    route[wanted->at[k]] = B4_V4;
  }
  return wanted->count;
}

/* Where a packet goes by what its ends are looked up to be. */
static inline int route_of(const struct lwaftr_path *path, const struct packet *p,
                           const struct found *from, const struct found *onto)
{
  if (!is_its(p, from))
    return B4_SLOW;
  if (!onto->managed)
    return path->known4 ? B4_V4 : B4_SLOW;
  return is_found(onto) && may_turn(path, p) ? B4_V6 : B4_SLOW;
}

/* The same where some may be for other B4s. */
static int send_on_or_back(const struct lwaftr_path *path, struct softwire_table *table,
                           const struct wanted *wanted, int k, uint8_t *route,
                           struct sums *sums)
{
  struct found from[STAGE], onto[STAGE];
  uint32_t sequence = softwires_begin_read(table);
  softwires_look(table, wanted->sources + k, wanted->count - k, from + k);
  softwires_look(table, wanted->destinations + k, wanted->count - k, onto + k);
  for (; k < wanted->count; k++) {
    struct packet *p = wanted->packets[k];
    struct softwire_ends to;
    int where = route_of(path, p, &from[k], &onto[k]);
    if (where == B4_V6)
      to = *onto[k].record;
    if (unlikely(!softwires_end_read(table, sequence)))
      return k;
    if (where == B4_V4)
      decapsulate(path, p, sums);
    else if (where == B4_V6)
      turn_back(path, p, to, sums);
    route[wanted->at[k]] = (uint8_t)where;
  }
  return k;
}

static void stage(struct lwaftr_path *path, struct packet **packets, int n,
                  uint8_t *route)
{
  struct softwire_table *table = binding_enter(path);
  struct wanted wanted;
  struct sums sums = {0};
  bool any = false; /* does any go where the table may have softwires? */
  int count = 0;
  for (int i = 0; i < n; i++) {
    fetch_headers(packets, i, n, ETHERNET_HEADER + IP6_HEADER);
    route[i] = B4_SLOW;
    wanted.at[count] = (uint8_t)i;
    wanted.packets[count] = packets[i];
    if (!is_plain(path, packets[i], &wanted.sources[count], &wanted.destinations[count]))
      continue;
    any |= softwires_may_have(table, wanted.destinations[count++].ipv4);
  }
  wanted.count = count;
  for (int k = 0; k < count; any = true) /* once more: the table may have others now */
    k = any && path->hairpinning
      ? send_on_or_back(path, table, &wanted, k, route, &sums)
      : send_on(path, table, &wanted, k, route, &sums);
  binding_leave(path);
  add_sum(&path->in, sums.in);
  add_sum(&path->hairpin, sums.hairpin);
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
  path->out = (struct lwaftr_sum){left, path->in.bytes - hairpin.bytes - IP6_HEADER * left};
  path->hairpin.bytes -= IP6_HEADER * hairpin.packets;
  count(&path->in_counts, path->in);
  count(&path->out4_counts, path->out);
  count(&path->hairpin_counts, path->hairpin);
  count(&path->out6_counts, hairpin);
}
