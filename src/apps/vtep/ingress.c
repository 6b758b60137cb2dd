/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the frames of the inner port go (apps.vtep.ingress).
 */
#include "internal.h"

/* Ingress.drops, in its order. */
enum { SHORT = 1, UNKNOWN_VLAN, CONTROL };

/* The remote that a frame to the address at `mac`, in the VNI of number `index`, goes
 * to; 0: to all of them. */
static int32_t remote_of(const struct vxlan_segment *s, const uint8_t *mac,
                         int32_t index)
{
  if (mac[0] & 1)
    return s->vnis[index].only;
  int32_t at = find_slot(s->slot, s->mask, s->seed, (int32_t)word(mac),
                         second_word(mac, index));
  return at < 0 ? s->vnis[index].only : s->slot[at].remote & REMOTE;
}

/* Find the VNI and the remote of a frame of the inner port: VXLAN_FLOOD, or 0, with
 * VXLAN_TAG if the first 4 bytes are to be dropped, the addresses having been moved
 * over the VLAN tag. hash[0] is the VNI then, and hash[1] the number of the remote, or
 * with VXLAN_FLOOD that of the VNI. Else the number of a drop, negated. */
int32_t pg_vxlan_route(const struct vxlan_segment *s, struct packet *p)
{
  uint8_t *data = p->buf_addr + p->data_off;
  uint32_t vlan = 0, type;
  int32_t cut = 0;
  if (p->length < ETHERNET)
    return -SHORT;
  type = half(data + 12);
  if (s->tags && type == TYPE_CTAG) {
    if (p->length < ETHERNET + TAG)
      return -SHORT;
    vlan = half(data + 14) & 0xfff;
    type = half(data + 16);
    cut = TAG;
    memmove(data + cut, data, 12);
  } else if (s->tags && type == TYPE_STAG) {
    return -UNKNOWN_VLAN; /* the VLANs of the settings are 802.1Q's, not 802.1ad's */
  }
  int32_t index = s->by_vlan[vlan];
  if (index == 0)
    return -UNKNOWN_VLAN;
  if (!s->flood_control && is_control(data + cut, type))
    return -CONTROL;
  int32_t remote = remote_of(s, data + cut, index);
  p->hash[0] = (uint32_t)s->vnis[index].vni;
  p->hash[1] = (uint32_t)(remote ? remote : index);
  return remote ? cut : cut | VXLAN_FLOOD;
}
