/* SPDX-License-Identifier: Apache-2.0
 *
 * An rte_net_get_ptype() of the host binary's own. librte_vhost calls it for each packet
 * whose checksum the guest left to its card, and then sums the packet's bytes from where
 * the guest says, if it doesn't know the protocol. Before 22.11.7, 23.11.3 and 24.11.1 it
 * believes an offset behind the packet: it reads 4 GB and ends the process
 * (CVE-2024-11614; seen in 23.11.0, which Ubuntu 24.04 begins with). Later ones may write
 * the sum's second byte behind the packet.
 *
 * rte_raw_cksum_mbuf() checks such an offset where a packet has more than one segment. So
 * until the packet has been summed its last byte stands in a segment of its own. The bytes
 * counted and the sum are the same.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include <rte_mbuf.h>
#include <rte_net.h>

#include "burst.h"

static _Thread_local bool watching;
static _Thread_local struct rte_mbuf *cut; /* the packet whose last byte is in `last` */
static _Thread_local struct rte_mbuf last;
static _Thread_local char last_byte;

static void join(void)
{
  if (!cut)
    return;
  cut->data_len++;
  cut->next = NULL;
  cut = NULL;
}

static void cut_off_last(struct rte_mbuf *m)
{
  last_byte = *rte_pktmbuf_mtod_offset(m, char *, m->data_len - 1);
  last.buf_addr = &last_byte;
  last.data_len = 1;
  m->data_len--;
  m->next = &last;
  cut = m;
}

void pg_vhost_checksums_begin(void)
{
  watching = true;
}

void pg_vhost_checksums_end(void)
{
  watching = false;
  join();
}

uint32_t rte_net_get_ptype(const struct rte_mbuf *m, struct rte_net_hdr_lens *lengths,
                           uint32_t layers)
{
  static uint32_t (*real)(const struct rte_mbuf *, struct rte_net_hdr_lens *, uint32_t);
  if (!real)
    real = dlsym(RTLD_NEXT, "rte_net_get_ptype");
  join(); /* the one before */
  uint32_t type = real(m, lengths, layers);
  if (watching && !m->next && m->data_len)
    cut_off_last((struct rte_mbuf *)m);
  return type;
}
