/* SPDX-License-Identifier: Apache-2.0
 *
 * Asserts that struct packet (api.h, seen by LuaJIT) is on DPDK's rte_mbuf
 * field by field. A DPDK that moved a field stops the build here.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "../api.h"

#define SAME_FIELD(ours, theirs)                                            \
  _Static_assert(offsetof(struct packet, ours) ==                           \
                   offsetof(struct rte_mbuf, theirs) &&                     \
                 sizeof(((struct packet *)0)->ours) ==                      \
                   sizeof(((struct rte_mbuf *)0)->theirs),                  \
                 "struct packet." #ours " is not at rte_mbuf." #theirs)

SAME_FIELD(buf_addr, buf_addr);
SAME_FIELD(data_off, data_off);
SAME_FIELD(refcnt, refcnt);
SAME_FIELD(nb_segs, nb_segs);
SAME_FIELD(port, port);
SAME_FIELD(ol_flags, ol_flags);
SAME_FIELD(packet_type, packet_type);
SAME_FIELD(pkt_len, pkt_len);
SAME_FIELD(length, data_len);
SAME_FIELD(vlan_tci, vlan_tci);
SAME_FIELD(hash, hash);
SAME_FIELD(vlan_tci_outer, vlan_tci_outer);
SAME_FIELD(buf_len, buf_len);
SAME_FIELD(pool, pool);
SAME_FIELD(next, next);
SAME_FIELD(tx_offload, tx_offload);
SAME_FIELD(shinfo, shinfo);
SAME_FIELD(priv_size, priv_size);
_Static_assert(offsetof(struct packet, note8) == sizeof(struct rte_mbuf) &&
               sizeof(struct packet) == sizeof(struct rte_mbuf) + PACKET_NOTES,
               "a packet's notes are not right behind rte_mbuf");
_Static_assert(LINK_RING_SIZE == LINK_MAX_PACKETS + 1,
               "a link keeps one slot empty");
