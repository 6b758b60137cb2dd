/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking for checksums that scripts leave to the device, for arrays of buffers. They are
 * computed as packets are sent (src/native/dpdk/offload.c).
 */
#include <stdint.h>

#include <rte_mbuf.h>

#include "internal.h"

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
