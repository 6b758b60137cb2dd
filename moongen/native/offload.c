/* SPDX-License-Identifier: Apache-2.0
 *
 * What scripts leave to the device (offload.h), done in software. A script's buffers
 * are templates: what it wrote into them is to be there when they come back, so a tag
 * that was put in is taken out again (mg_untag).
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_mbuf.h>

#include "../../src/native/dpdk/port_io.h"
#include "../../src/native/dpdk/internal.h"
#include "../../src/native/kernels/checksum.h"
#include "../../src/net/wire/wire.h"
#include "offload.h"

#define FAMILY (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6)

/* The sum of `n` bytes but for the checksum at `at` among them, which is neither read
 * nor cleared first: a wide load behind a narrow store waits for it. */
static inline uint64_t sum_without(const uint8_t *p, uint32_t n, uint32_t at)
{
  return pg_sum_words(p, at) + pg_sum_bytes(p + at + 2, n - at - 2);
}

/* Both checksums of UDP or TCP over an IPv4 header without options; false, and nothing
 * done, if the packet isn't of that kind, or shorter than it says. */
static inline bool ip4_and_l4(struct rte_mbuf *m, uint32_t protocol, uint32_t shortest,
                              uint32_t at)
{
  uint8_t *ip = rte_pktmbuf_mtod_offset(m, uint8_t *, m->l2_len);
  uint32_t left = m->data_len - m->l2_len;
  if (m->data_len < m->l2_len + IP4_HEADER + shortest || ip[0] != 0x45 ||
      m->l3_len != IP4_HEADER)
    return false;
  uint32_t total = get16(ip + IP4_LENGTH);
  if (total > left || total < IP4_HEADER + shortest)
    return false;
  uint32_t n = total - IP4_HEADER;
  uint8_t *l4 = ip + IP4_HEADER;
  uint64_t addresses = pg_sum_words(ip + IP4_ADDRESSES, 8);
  uint64_t pseudo = addresses + rte_cpu_to_be_16(protocol) + rte_cpu_to_be_16(n);
  uint16_t sum = pg_fold_not(pseudo + sum_without(l4, n, at));
  store16(ip + IP4_CHECKSUM, pg_fold_not(pg_sum_words(ip, IP4_CHECKSUM) + addresses));
  store16(l4 + at, sum == 0 && protocol == IPPROTO_UDP ? 0xffff : sum); /* RFC 768 */
  return true;
}

/* The same for whatever it is. */
static void checksums(struct rte_mbuf *m, uint64_t l4)
{
  struct packet *p = (struct packet *)m;
  uint32_t at = m->l2_len + m->l3_len;
  if (l4 == RTE_MBUF_F_TX_TCP_CKSUM)
    pg_fill_l4(p, m->l2_len, at, IPPROTO_TCP);
  if (l4 == RTE_MBUF_F_TX_UDP_CKSUM)
    pg_fill_l4(p, m->l2_len, at, IPPROTO_UDP);
  if (m->ol_flags & RTE_MBUF_F_TX_IP_CKSUM)
    pg_fill_ip4(p, m->l2_len);
}

static void insert_tag(struct rte_mbuf *m)
{
  uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
  uint16_t tag[2] = {rte_cpu_to_be_16(TYPE_8021Q), rte_cpu_to_be_16(m->vlan_tci)};
  if (m->data_len < MAC_ADDRESSES || rte_pktmbuf_headroom(m) < VLAN_TAG)
    return;
  m->data_off -= VLAN_TAG;
  memmove(frame - VLAN_TAG, frame, MAC_ADDRESSES);
  memcpy(frame - VLAN_TAG + MAC_ADDRESSES, tag, sizeof tag);
  m->data_len += VLAN_TAG;
  m->pkt_len = m->data_len;
  m->packet_type = MG_TAGGED;
}

/* Put a buffer that comes back from its pool right again: its data begins where a new
 * packet's does. */
void mg_untag(struct packet *p)
{
  uint8_t *frame = p->buf_addr + RTE_PKTMBUF_HEADROOM;
  memmove(frame, frame - VLAN_TAG, MAC_ADDRESSES);
  p->packet_type = 0;
}

/* Do what the packets ask for. */
void pg_mg_offload(struct packet **packets, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++) {
    struct rte_mbuf *m = (struct rte_mbuf *)packets[i];
    uint64_t flags = m->ol_flags, l4 = flags & RTE_MBUF_F_TX_L4_MASK;
    if (!(flags & PG_OFFLOADS))
      continue;
    bool both = (flags & RTE_MBUF_F_TX_IP_CKSUM) &&
                ((l4 == RTE_MBUF_F_TX_UDP_CKSUM &&
                  ip4_and_l4(m, IPPROTO_UDP, UDP_HEADER, UDP_CHECKSUM)) ||
                 (l4 == RTE_MBUF_F_TX_TCP_CKSUM &&
                  ip4_and_l4(m, IPPROTO_TCP, TCP_HEADER, TCP_CHECKSUM)));
    if (!both)
      checksums(m, l4);
    if (flags & RTE_MBUF_F_TX_VLAN)
      insert_tag(m);
    m->ol_flags = flags & ~(PG_OFFLOADS | FAMILY);
  }
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
