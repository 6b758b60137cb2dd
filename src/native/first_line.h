/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets of one segment are taken from a pool, and given back to it, by the first of
 * their two cache lines alone. DPDK's functions write the second as they allocate
 * (`next`, tx_offload) and read it as they free. It is as they left it: a packet in a pool
 * has no next segment, and tx_offload says nothing without ol_flags (offload.c).
 * (PacketMill's X-Change, Farshin et al., ASPLOS 2021, keeps to one line so, too.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

/* `n` packets without bytes, ready to receive into; false, and none, if the pool hasn't
 * so many. What is behind `pool` in a packet is as it was. */
static inline bool pg_take_packets(struct rte_mempool *pool, struct rte_mbuf **packets,
                                   unsigned n)
{
  if (unlikely(rte_mempool_get_bulk(pool, (void **)packets, n) < 0))
    return false;
  for (unsigned i = 0; i < n; i++) {
    struct rte_mbuf *m = packets[i];
    rte_pktmbuf_reset_headroom(m);
    m->ol_flags = 0;
    m->packet_type = 0;
    m->pkt_len = 0;
    m->data_len = 0;
    m->vlan_tci = 0;
  }
  return true;
}

/* Is it a packet of one segment that nobody else has, with its own bytes? */
static inline bool pg_is_plain(const struct rte_mbuf *m)
{
  return m->nb_segs == 1 && rte_mbuf_refcnt_read(m) == 1 && RTE_MBUF_DIRECT(m);
}

/* Give `n` packets back, each to its pool: neighbours are often of the same. */
static inline void pg_give_packets(struct rte_mbuf **packets, unsigned n)
{
  for (unsigned from = 0, to = 0; from < n; from = to) {
    struct rte_mempool *pool = packets[from]->pool;
    while (to < n && packets[to]->pool == pool && pg_is_plain(packets[to]))
      to++;
    if (to > from)
      rte_mempool_put_bulk(pool, (void **)&packets[from], to - from);
    else
      rte_pktmbuf_free(packets[to++]);
  }
}
