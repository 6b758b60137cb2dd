/* SPDX-License-Identifier: Apache-2.0
 *
 * Bursts from a fused region or a bulk app to another, in the same breath: past the
 * ring of the link that joins them, whose cursors only count. The array they are in
 * stays the giver's, which puts them into the ring (pg_queue_handed) if it needs the
 * array again before the taker has come. Only a link that is `direct` does this
 * (core/fuse/direct_links.lua); with others it is all pg_give and pg_take.
 */
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include "../api.h"
#include "../link_cursors.h"
#include "internal.h"

/* Let the taker have the `n` packets of the array `from`, which have so many `bytes`
 * together, or -1. */
void pg_hand(struct freelist *account, struct link *link, struct packet **from, int n,
             int bytes)
{
  if (!link->direct) {
    pg_give(account, link, from, n);
    return;
  }
  link->handed = from;
  link->nhanded = n;
  link->handed_bytes = bytes;
}

/* Those of `*n` packets whose route is `output`, and how many they are. They may have to
 * be gathered in the array `chosen`, of PORT_BURST. */
static inline struct packet **routed(struct packet **from, int *n, const uint8_t *route,
                                     int output, struct packet **chosen)
{
  int count = 0, others = 0;
  for (int i = 0; i < *n; i++)
    others |= route[i] ^ output;
  if (likely(others == 0))
    return from;
  for (int i = 0; i < *n; i++) {
    chosen[count] = from[i];
    count += route[i] == output;
  }
  *n = count;
  return chosen;
}

/* The same with those of `n` packets whose `route` is `output`; how many. */
int pg_hand_routed(struct freelist *account, struct link *link, struct packet **from,
                   int n, const uint8_t *route, int output, struct packet **chosen)
{
  from = routed(from, &n, route, output, chosen);
  pg_hand(account, link, from, n, -1);
  return n;
}

/* Send these by the port that the link leads to (pg_send); how many. */
int pg_send_routed(struct port *port, struct link *link, struct packet **from, int n,
                   const uint8_t *route, int output, struct packet **chosen)
{
  from = routed(from, &n, route, output, chosen);
  pg_send(port, link, from, n);
  return n;
}

/* Put what was handed over, if anything was, into the ring. */
void pg_queue_handed(struct freelist *account, struct link *link)
{
  int n = link->nhanded;
  link->nhanded = 0;
  if (n > 0)
    pg_give(account, link, link->handed, n);
}

/* Take what was handed over, if nothing in the ring comes first; how many packets. */
static inline int accept(struct freelist *account, struct link *link,
                         struct packet **to)
{
  int n = link->nhanded;
  if (unlikely(n == 0 || waiting(link) > 0)) {
    pg_queue_handed(account, link);
    return 0;
  }
  link->nhanded = 0;
  memcpy(to, link->handed, n * sizeof *to);
  passed(link, n);
  return n;
}

/* Take up to PORT_BURST packets, those in the ring first; how many. The caller adds
 * up their bytes (link->rxbytes). */
int pg_accept(struct freelist *account, struct link *link, struct packet **to)
{
  int n = accept(account, link, to);
  return likely(n > 0) ? n : pg_take(link, to, PORT_BURST);
}

/* The same, and adds up their bytes. */
int pg_accept_counted(struct freelist *account, struct link *link, struct packet **to)
{
  int n = accept(account, link, to);
  if (unlikely(n == 0))
    return pg_take_counted(link, to, PORT_BURST);
  link->rxbytes += link->handed_bytes >= 0 ? link->handed_bytes : length_of(to, n);
  return n;
}
