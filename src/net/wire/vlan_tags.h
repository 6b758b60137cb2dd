/* SPDX-License-Identifier: Apache-2.0
 *
 * What a frame carries behind its VLAN tags (IEEE Std 802.1Q-2018, section 9.6).
 */
#pragma once

#include <stdint.h>

#include "wire.h"

/* The EtherType behind up to `most` tags of a frame of `n` bytes, and at `at` the offset of
 * what it announces. A tag's type if there are more tags; 0 if what is there is too short. */
static inline uint32_t ethernet_type(const uint8_t *frame, uint32_t n, int most,
                                     uint32_t *at)
{
  if (n < ETHERNET_HEADER)
    return 0;
  uint32_t type = get16(frame + MAC_ADDRESSES), payload = ETHERNET_HEADER;
  for (int tags = 0; tags < most && is_vlan_type(type); tags++) {
    if (n < payload + VLAN_TAG)
      return 0;
    type = get16(frame + payload + 2);
    payload += VLAN_TAG;
  }
  *at = payload;
  return type;
}
