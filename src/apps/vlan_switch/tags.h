/* SPDX-License-Identifier: Apache-2.0
 *
 * VLAN tags of frames (IEEE 802.1Q).
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "../../native/api.h"
#include "../../net/wire/wire.h"
#include "vlan_switch.h"

enum { MACS = 12, /* bytes of a frame before its EtherType */
       HEADER = 14, TAG = 4 };

static inline uint8_t *data_of(const struct packet *p)
{
  return p->buf_addr + p->data_off;
}

static inline void pop_tag(struct packet *p)
{
  uint8_t *data = data_of(p);
  memmove(data + TAG, data, MACS);
  p->data_off += TAG;
  p->length -= TAG;
}
