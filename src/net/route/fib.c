/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv4 routing tables (DPDK's rte_fib, DIR-24-8), looked up a burst at a time.
 * Next hop 0 means that there is no route.
 */
#define ALLOW_EXPERIMENTAL_API /* rte_vect_set_max_simd_bitwidth */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_fib.h>
#include <rte_mbuf.h>
#include <rte_vect.h>

#include "../../native/api.h"
#include "../../native/host.h"
#include "route.h"

enum { IPV4_AT = 14, DESTINATION_AT = IPV4_AT + 16, HEADERS = IPV4_AT + 20 };
enum { NO_ROUTE = (uint8_t)-1, SHORT = (uint8_t)-2 }; /* FibLookup.drops */
enum { LONG_PREFIXES = 1 << 15 }; /* /24 nets with routes longer than /24 */

/* DPDK keeps to 256 bits unless told otherwise; 512 only for this choice. */
static void choose_lookup(struct rte_fib *fib)
{
  uint16_t bits = rte_vect_get_max_simd_bitwidth();
  rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_512);
  rte_fib_select_lookup(fib, RTE_FIB_LOOKUP_DEFAULT);
  rte_vect_set_max_simd_bitwidth(bits);
}

/* A table for up to `max_routes` routes; NULL if there is no memory for it. */
void *pg_fib_create(uint32_t max_routes)
{
  static _Atomic unsigned count;
  char name[32];
  struct rte_fib_conf conf = {
    .type = RTE_FIB_DIR24_8, .default_nh = 0, .max_routes = max_routes,
    .dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = LONG_PREFIXES}};
  snprintf(name, sizeof name, "perigee%u", count++);
  struct rte_fib *fib = rte_fib_create(name, SOCKET_ID_ANY, &conf);
  if (!fib)
    pg_fail("a routing table for %u routes can't be made: %s (it takes 96 MB "
            "of DPDK's memory, and some for each route)", max_routes,
            rte_strerror(rte_errno));
  else
    choose_lookup(fib);
  return fib;
}

/* Route `prefix`/`depth` (an address as a number, 0xc0000200 for 192.0.2.0) to
 * the next hop, which is 1 or more; -1 if that can't be. */
int pg_fib_add(void *fib, uint32_t prefix, int depth, uint32_t next_hop)
{
  int error = rte_fib_add(fib, prefix, depth, next_hop);
  return error == 0 ? 0
    : pg_fail("the route can't be added: %s",
              error == -ENOSPC ? "the table is full" : rte_strerror(-error));
}

/* So many at once that their headers are still in the first cache when the next hops
 * have been found. */
enum { CHUNK = 32 };

/* Say of each packet where it goes, when some can't go on. */
static void route_each(struct packet **packets, int n, const uint64_t *hops,
                       uint8_t *route)
{
  for (int i = 0; i < n; i++)
    route[i] = packets[i]->length < HEADERS ? SHORT : hops[i] == 0 ? NO_ROUTE : 1;
}

static inline void look_up_chunk(struct rte_fib *fib, struct packet **packets, int n,
                                 uint8_t *route)
{
  uint32_t addresses[CHUNK];
  uint64_t hops[CHUNK];
  bool all = true;
  for (int i = 0; i < n; i++) {
    const struct packet *p = packets[i];
    uint32_t address = 0;
    if (likely(p->length >= HEADERS))
      memcpy(&address, p->buf_addr + p->data_off + DESTINATION_AT, sizeof address);
    else
      all = false;
    addresses[i] = rte_be_to_cpu_32(address);
  }
  rte_fib_lookup_bulk(fib, addresses, hops, n);
  for (int i = 0; i < n; i++) {
    packets[i]->hash[1] = hops[i];
    all = all && hops[i] != 0;
  }
  if (likely(all))
    memset(route, 1, n);
  else
    route_each(packets, n, hops, route);
}

/* Look up the IPv4 destination of each packet behind an Ethernet header. Its
 * next hop goes to hash[1]; route[i] becomes 1, or the drop NO_ROUTE or SHORT.
 * The last packets first: their headers are those in the first cache, and whoever
 * comes next begins with the first packets. */
void pg_fib_lookup(void *fib, struct packet **packets, int n, uint8_t *route)
{
  while (n > 0) {
    int chunk = (n - 1) % CHUNK + 1;
    n -= chunk;
    look_up_chunk(fib, packets + n, chunk, route + n);
  }
}

/* Give the table back. */
void pg_fib_free(void *fib)
{
  rte_fib_free(fib);
}
