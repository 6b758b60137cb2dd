/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks up an IPv4 address among routes that click.net.route_ranges has laid out: the
 * first 16 bits are an index, the others are looked for among ranges, in about as many
 * steps as their number has bits (Zec, Rizzo, Mikuc: "DXR: towards a billion routing lookups
 * per second in software", 2012).
 */
#include <stdint.h>

#include <rte_byteorder.h>

#include "ip.h"

/* The way of the route to an address (as it lies in headers), or 0. */
int32_t pg_ip4_routes_find(const struct ip4_routes *r, uint32_t address)
{
  address = rte_be_to_cpu_32(address);
  const struct ip4_chunk *chunk = &r->chunk[address >> 16];
  if (chunk->n == 0)
    return chunk->at;
  const struct ip4_range *at = r->ranges + chunk->at;
  uint32_t low = address & 0xffff;
  for (uint32_t n = chunk->n; n > 1;) {
    uint32_t half = n / 2;
    at += at[half].start <= low ? half : 0;
    n -= half;
  }
  return at->way;
}
