/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the frames of the inner port go (apps.vtep.ingress).
 */
#include "../../net/fdb/find.h"
#include "internal.h"

/* Ingress.drops, in its order. */
enum { SHORT = 1, UNKNOWN_VLAN, CONTROL };

static inline void count(struct vtep_counts *counts, uint32_t length)
{
  counts->flooded++;
  counts->flooded_bytes += length;
}

/* The remote that a frame of `length` bytes, in the VNI of number `index`, goes to if
 * nobody knows where; 0: to all of them. */
static int32_t any_remote(const struct vxlan_segment *s, uint32_t length, int32_t index)
{
  int32_t only = s->vnis[index].only;
  count(&s->vnis[index].counts, length);
  if (only)
    count(&s->remotes[only].counts, length);
  return only;
}

/* The remote that the frame goes to. */
static int32_t remote_of(const struct vxlan_segment *s, const uint8_t *frame,
                         uint32_t length, int32_t index)
{
  if (frame[0] & 1)
    return any_remote(s, length, index);
  uint64_t key = fdb_key(frame, (uint32_t)index);
  const struct fdb_record *entry = fdb_find(s->fdb, key, fdb_hash(s->fdb, key));
  return entry ? fdb_port(entry) : any_remote(s, length, index);
}

/* Find the VNI and the remote of a frame of the inner port: VXLAN_FLOOD, or 0, with
 * VXLAN_TAG if the first 4 bytes are to be dropped, the addresses having been moved
 * over the VLAN tag. hash[0] is the VNI then, and hash[1] its number (upper 16 bits) and
 * that of the remote, with VXLAN_FLOOD 0. Else the number of a drop, negated. */
int32_t pg_vxlan_route(const struct vxlan_segment *s, struct packet *p)
{
  uint8_t *data = p->buf_addr + p->data_off;
  uint32_t vlan = 0, type;
  int32_t cut = 0;
  if (p->length < ETHERNET_HEADER)
    return -SHORT;
  type = get16(data + 12);
  if (s->tags && type == TYPE_8021Q) {
    if (p->length < ETHERNET_HEADER + VLAN_TAG)
      return -SHORT;
    vlan = get16(data + 14) & 0xfff;
    type = get16(data + 16);
    cut = VLAN_TAG;
    memmove(data + cut, data, 12);
  } else if (s->tags && type == TYPE_8021AD) {
    return -UNKNOWN_VLAN; /* the VLANs of the settings are 802.1Q's, not 802.1ad's */
  }
  int32_t index = s->by_vlan[vlan];
  if (index == 0)
    return -UNKNOWN_VLAN;
  if (!s->flood_control && is_control(data + cut, type))
    return -CONTROL;
  int32_t remote = remote_of(s, data + cut, (uint32_t)(p->length - cut), index);
  p->hash[0] = (uint32_t)s->vnis[index].vni;
  p->hash[1] = (uint32_t)index << 16 | (uint32_t)remote;
  return remote ? cut : cut | VXLAN_FLOOD;
}
