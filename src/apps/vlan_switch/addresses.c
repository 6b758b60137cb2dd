/* SPDX-License-Identifier: Apache-2.0
 *
 * What the switch's table is asked from outside.
 */
#include "../../native/api.h"
#include "addresses.h"

/* The address is the port's, for good. -1 if its bucket is full, -2 if another port has
 * it. `mac` is the address as its 6 bytes in memory are read. */
int pg_vswitch_add(struct vswitch *s, uint64_t mac, uint32_t vlan, uint32_t port)
{
  uint64_t key = key_of(mac, vlan);
  struct vswitch_bucket *b = bucket(s, key);
  if (find(b, key) >= 0)
    return -2;
  int i = slot_for(s, b);
  if (i < 0)
    return -1;
  put(s, b, i, key, (uint16_t)port, true);
  return 0;
}

/* The port of the address, or -1. */
int64_t pg_vswitch_port_of(const struct vswitch *s, uint64_t mac, uint32_t vlan)
{
  uint64_t key = key_of(mac, vlan);
  return port_in(s, bucket(s, key), key);
}
