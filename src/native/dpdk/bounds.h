/* SPDX-License-Identifier: Apache-2.0
 *
 * The lengths of a burst's packets: their sum and bounds, and whether DPDK knows
 * them (pkt_len). All that sending looks at in a packet, so it is made to be quick.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_common.h>
#include <rte_mbuf.h>

#include "../../net/wire/wire.h"
#include "internal.h"

/* What lies in a packet from pkt_len on: that, data_len, which LENGTHS are, and the VLAN
 * tag. */
#define LENGTHS UINT64_C(0xffffffffffff)
static inline uint64_t lengths_of(const struct rte_mbuf *m)
{
  uint64_t word;
  static_assert(offsetof(struct rte_mbuf, data_len) ==
                offsetof(struct rte_mbuf, pkt_len) + sizeof m->pkt_len,
                "data_len follows pkt_len");
  memcpy(&word, &m->pkt_len, sizeof word);
  return word;
}

/* Have all packets the lengths of the first? So it is with most bursts of bulk
 * traffic; with others it is soon seen. Not for a few packets, whose lengths the
 * CPU is still writing: it can't read ahead of two stores at once. */
static inline bool all_alike(struct rte_mbuf **packets, uint16_t n)
{
  enum { STEP = 16 };
  uint64_t first, differing = 0;
  uint16_t i = 0;
  if (n < STEP)
    return false;
  first = lengths_of(packets[0]);
  for (; i + STEP <= n && !(differing & LENGTHS); i += STEP)
    for (int k = 0; k < STEP; k++)
      differing |= lengths_of(packets[i + k]) ^ first;
  for (; i < n; i++)
    differing |= lengths_of(packets[i]) ^ first;
  return !(differing & LENGTHS);
}

/* Of one burst, which isn't empty. */
struct bounds {
  uint16_t shortest, longest;
  uint32_t bytes, padded; /* padded: with those that short frames lack */
  bool pkt_len_differs; /* from the packet's length */
};

static __rte_always_inline struct bounds bounds_of(struct rte_mbuf **packets,
                                                   uint16_t n)
{
  uint16_t lengths[TX_CHUNK], first = packets[0]->data_len;
  if (all_alike(packets, n))
    return (struct bounds){first, first, (uint32_t)first * n,
                           (uint32_t)RTE_MAX(first, SHORTEST_FRAME) * n,
                           packets[0]->pkt_len != first};
  /* Set aside, so that they are compared as vectors. */
  uint32_t differing = 0;
#pragma GCC unroll 8
  for (uint16_t i = 0; i < n; i++) {
    lengths[i] = packets[i]->data_len;
    differing |= packets[i]->pkt_len ^ lengths[i];
  }
  struct bounds b = {.shortest = UINT16_MAX, .pkt_len_differs = differing};
  for (uint16_t i = 0; i < n; i++) {
    b.bytes += lengths[i];
    b.padded += RTE_MAX(lengths[i], SHORTEST_FRAME);
    b.shortest = RTE_MIN(b.shortest, lengths[i]);
    b.longest = RTE_MAX(b.longest, lengths[i]);
  }
  return b;
}
