/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts tags on frames.
 */
#include "tags.h"

/* Put the tag of `vlan` on the frame, unless that is 0. False if it would be too long. */
bool pg_vswitch_tag(struct packet *p, uint32_t vlan)
{
  if (vlan == 0)
    return true;
  if (p->length > PACKET_MAX_PAYLOAD - TAG || p->data_off < TAG)
    return false;
  p->data_off -= TAG;
  p->length += TAG;
  uint8_t *data = data_of(p);
  memmove(data, data + TAG, MACS);
  data[MACS] = 0x81;
  data[MACS + 1] = 0x00;
  data[MACS + 2] = (uint8_t)(vlan >> 8);
  data[MACS + 3] = (uint8_t)vlan;
  return true;
}
