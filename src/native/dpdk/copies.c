/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of a burst, as of core/packet.lua's clone().
 */
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <rte_memcpy.h>

#include "../api.h"
#include "internal.h"

/* A copy, in a free packet. */
static inline struct packet *copy_to(struct packet *p, const struct packet *from)
{
  p->length = from->length;
  rte_memcpy(p->buf_addr + p->data_off, from->buf_addr + from->data_off, from->length);
  if (unlikely(from->ol_flags & PG_REQUESTS)) {
    p->ol_flags = from->ol_flags & PG_REQUESTS;
    p->tx_offload = from->tx_offload;
    p->vlan_tci = from->vlan_tci;
  }
  return p;
}

/* Put a copy in the place of each of `n` packets. The account must have that many free
 * ones. */
void pg_copy(struct freelist *account, struct packet **packets, int n)
{
  for (int i = 0; i < n; i++)
    packets[i] = copy_to(account->list[--account->nfree], packets[i]);
}
