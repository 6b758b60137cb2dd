/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of packets that are kept: what a load is made of (Repeater).
 */
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <rte_memcpy.h>

#include "../api.h"
#include "internal.h"

/* What a copy is sent with: as of core/packet.lua's clone(). */
static inline void copy_requests(struct packet *to, const struct packet *from)
{
  struct rte_mbuf *t = (struct rte_mbuf *)to;
  const struct rte_mbuf *f = (const struct rte_mbuf *)from;
  t->ol_flags = f->ol_flags & PG_REQUESTS;
  t->tx_offload = f->tx_offload;
  t->vlan_tci = f->vlan_tci;
}

static inline struct packet *copy_of(struct freelist *account, const struct packet *from)
{
  struct packet *p = account->list[--account->nfree];
  p->length = from->length;
  rte_memcpy((char *)p->buf_addr + p->data_off, (char *)from->buf_addr + from->data_off,
             from->length);
  if (unlikely(((const struct rte_mbuf *)from)->ol_flags & PG_REQUESTS))
    copy_requests(p, from);
  return p;
}

/* Copies of `n` packets into `to`: of kept[first] on, and of kept[0] on again behind the
 * last of `count`. The account must have that many free packets. Returns the index of
 * the packet that is next. */
uint32_t pg_copies(struct freelist *account, struct packet *const *kept, uint32_t count,
                   uint32_t first, struct packet **to, int n)
{
  for (int i = 0; i < n; i++) {
    to[i] = copy_of(account, kept[first]);
    first = first + 1 < count ? first + 1 : 0;
  }
  return first;
}
