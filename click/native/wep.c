/* SPDX-License-Identifier: Apache-2.0
 *
 * Wired Equivalent Privacy: RC4, and a CRC that is DPDK's.
 */
#include <rte_net_crc.h>

#include "wep.h"

enum { STATES = 256 };

static void swap(uint8_t *a, uint8_t *b)
{
  uint8_t former = *a;
  *a = *b;
  *b = former;
}

void pg_wep_crypt(const uint8_t *key, uint32_t key_bytes, uint8_t *data, uint32_t n)
{
  uint8_t state[STATES], j = 0;
  for (uint32_t i = 0; i < STATES; i++) state[i] = i;
  for (uint32_t i = 0; i < STATES; i++) {
    j += state[i] + key[i % key_bytes];
    swap(&state[i], &state[j]);
  }
  uint8_t i = 0;
  j = 0;
  for (uint32_t k = 0; k < n; k++) {
    i++;
    j += state[i];
    swap(&state[i], &state[j]);
    data[k] ^= state[(uint8_t)(state[i] + state[j])];
  }
}

uint32_t pg_wep_check(const uint8_t *data, uint32_t n)
{
  return rte_net_crc_calc(data, n, RTE_NET_CRC32_ETH);
}
