/* SPDX-License-Identifier: Apache-2.0
 *
 * What scripts leave to the device (offload.h), done here. A script's buffers are
 * templates: what it wrote into them is to be there when they come back, so a tag that
 * was put in is taken out again (mg_untag).
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_mbuf.h>

#include "../../src/native/driver.h"
#include "../../src/native/host.h"
#include "../../src/net/wire/wire.h"
#include "offload.h"

/* Put a buffer that comes back from its pool right again: its data begins where a new
 * packet's does. */
void mg_untag(struct packet *p)
{
  uint8_t *frame = p->buf_addr + RTE_PKTMBUF_HEADROOM;
  memmove(frame, frame - VLAN_TAG, MAC_ADDRESSES);
  p->packet_type = 0;
}

/* Let the packet have its tag: if that moves its addresses to make room, they are moved
 * back before it is used again. */
static void insert_tag(struct rte_mbuf *m)
{
  pg_offload_here(&m, 1);
  m->pkt_len = m->data_len;
  if (m->data_off == RTE_PKTMBUF_HEADROOM - VLAN_TAG)
    m->packet_type = MG_TAGGED;
}

/* Do what the packets ask for; `asked` has the flags of all of them. */
void mg_offload_asked(struct packet **packets, uint32_t n, uint64_t asked)
{
  struct rte_mbuf **list = (struct rte_mbuf **)packets;
  if (asked & RTE_MBUF_F_TX_VLAN)
    for (uint32_t i = 0; i < n; i++)
      if (list[i]->ol_flags & RTE_MBUF_F_TX_VLAN)
        insert_tag(list[i]);
  pg_offload_here(list, n);
}

/* The same, where that isn't known. */
void pg_mg_offload(struct packet **packets, uint32_t n)
{
  uint64_t asked = 0;
  for (uint32_t i = 0; i < n; i++)
    asked |= packets[i]->ol_flags;
  mg_offload_asked(packets, n, asked);
}

/* Ask for checksums: `flags` are DPDK's, headers have `l2` and `l3` bytes. A burst that
 * wasn't full leaves null pointers in its array. */
void mg_ask_checksums(struct packet **packets, int32_t n, uint64_t flags, uint32_t l2,
                      uint32_t l3)
{
  for (int32_t i = 0; i < n; i++) {
    if (!packets[i])
      continue;
    packets[i]->ol_flags |= flags;
    packets[i]->tx_offload = l2 | l3 << 7; /* rte_mbuf's l2_len and l3_len */
  }
}

/* Ask for a VLAN tag with these 16 bits of control information. */
void mg_ask_vlan(struct packet **packets, int32_t n, uint32_t tci)
{
  for (int32_t i = 0; i < n; i++) {
    if (!packets[i])
      continue;
    packets[i]->vlan_tci = tci;
    packets[i]->ol_flags |= RTE_MBUF_F_TX_VLAN;
  }
}
