/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of apps.vtep that branch on the packet's kind or on chance. Compiled by
 * LuaJIT each way would be a trace of its own, with all that follows it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../../native/api.h"
#include "vtep.h"

enum {
  SLOTS = 4, /* in a bucket of the forwarding table: a cache line */
  ETHERNET = 14, IP4 = 20, IP6 = 40, PORTS = 4, /* bytes */
  TYPE_IP4 = 0x0800, TYPE_IP6 = 0x86dd, /* EtherTypes */
  TCP = 6, UDP = 17 /* IANA's protocol numbers */
};

static inline uint32_t rol(uint32_t x, int n)
{
  return x << n | x >> (32 - n);
}

static inline uint32_t word(const uint8_t *data)
{
  uint32_t value;
  memcpy(&value, data, sizeof value);
  return value;
}

/* Three numbers to one. The rotations are those of the last step of Bob Jenkins's
 * lookup3. */
static inline uint32_t mix(uint32_t a, uint32_t b, uint32_t c)
{
  c = (c ^ b) - rol(b, 14);
  a = (a ^ c) - rol(c, 11);
  b = (b ^ a) - rol(a, 25);
  c = (c ^ b) - rol(b, 16);
  a = (a ^ c) - rol(c, 4);
  b = (b ^ a) - rol(a, 14);
  return (c ^ b) - rol(b, 24);
}

/* The hash of a key; the key's buckets are this & mask and its rotation by 16. */
int32_t pg_fdb_hash(int32_t seed, int32_t a, int32_t b)
{
  return (int32_t)mix((uint32_t)a, (uint32_t)b, (uint32_t)seed);
}

/* The number of the slot with the key (a, b), or -1. */
int32_t pg_fdb_find(const struct vtep_entry *slot, int32_t mask, int32_t seed,
                    int32_t a, int32_t b)
{
  uint32_t hash = mix((uint32_t)a, (uint32_t)b, (uint32_t)seed);
  for (int bucket = 0; bucket < 2; bucket++) {
    int32_t first = (int32_t)(hash & (uint32_t)mask) * SLOTS;
    for (int32_t i = first; i < first + SLOTS; i++)
      if (slot[i].a == a && slot[i].b == b)
        return i;
    hash = rol(hash, 16);
  }
  return -1;
}

/* The ports at `data`, where there are some before `end`, and the protocol. */
static uint32_t ports(const uint8_t *data, const uint8_t *end, uint32_t protocol)
{
  if ((protocol == TCP || protocol == UDP) && end - data >= PORTS)
    return word(data) ^ protocol;
  return protocol;
}

static uint32_t flow4(const uint8_t *ip, const uint8_t *end)
{
  uint32_t last = ip[9];
  if (((ip[6] & 0x3f) | ip[7]) == 0) /* fragments have ports only in the first */
    last = ports(ip + (ip[0] & 15) * 4, end, last);
  return mix(word(ip + 12), word(ip + 16), last);
}

static uint32_t fold6(const uint8_t *address)
{
  return word(address) ^ rol(word(address + 4), 8) ^ rol(word(address + 8), 16) ^
    rol(word(address + 12), 24);
}

/* Of the Ethernet frame of `length` bytes (at least 14): its DSCP and ECN byte (0 if
 * it isn't IP) in the lowest 8 bits, and above them 24 bits of a hash of its flow. */
int32_t pg_flow(const uint8_t *data, int32_t length)
{
  const uint8_t *ip = data + ETHERNET, *end = data + length;
  uint32_t type = (uint32_t)data[12] << 8 | data[13], hash, tos = 0;
  if (type == TYPE_IP4 && length >= ETHERNET + IP4) {
    hash = flow4(ip, end);
    tos = ip[1];
  } else if (type == TYPE_IP6 && length >= ETHERNET + IP6) {
    hash = mix(fold6(ip + 8), fold6(ip + 24), ports(ip + IP6, end, ip[6]));
    tos = (ip[0] & 15u) << 4 | ip[1] >> 4;
  } else {
    hash = mix(word(data), word(data + 4), word(data + 8) ^ type);
  }
  return (int32_t)(hash << 8 | tos);
}

enum {
  TYPE_ARP = 0x0806, TYPE_CTAG = 0x8100, TYPE_STAG = 0x88a8, /* EtherTypes */
  FRAGMENT_HEADER = 44, /* IANA's protocol number */
  UDP_VXLAN = 16, VNI_FLAG = 8, LEAF = 4096,
  REMOTE = 0xffff /* of an entry's `remote`: the number */
};

static inline uint32_t half(const uint8_t *data)
{
  return (uint32_t)data[0] << 8 | data[1];
}

/* Ingress.drops, in its order. */
enum { SHORT = 1, UNKNOWN_VLAN };

/* The remote that a frame to the address at `mac`, in the VNI of number `index`, goes
 * to; 0: to all of them. */
static int32_t remote_of(const struct vxlan_segment *s, const uint8_t *mac,
                         int32_t index)
{
  uint16_t last;
  memcpy(&last, mac + 4, sizeof last);
  if (mac[0] & 1)
    return s->vnis[index].only;
  int32_t at = pg_fdb_find(s->slot, s->mask, s->seed, (int32_t)word(mac),
                           (int32_t)((uint32_t)index << 16 | last));
  return at < 0 ? s->vnis[index].only : s->slot[at].remote & REMOTE;
}

/* Find the VNI and the remote of a frame of the inner port: VXLAN_FLOOD, or 0, with
 * VXLAN_TAG if the first 4 bytes are to be dropped, the addresses having been moved
 * over the VLAN tag. hash[0] is the VNI then, and hash[1] the number of the remote, or
 * with VXLAN_FLOOD that of the VNI. Else the number of a drop, negated. */
int32_t pg_vxlan_route(const struct vxlan_segment *s, struct packet *p)
{
  uint8_t *data = p->buf_addr + p->data_off;
  uint32_t vlan = 0;
  int32_t cut = 0;
  if (p->length < ETHERNET)
    return -SHORT;
  if (s->tags && half(data + 12) == TYPE_CTAG) {
    if (p->length < ETHERNET + VXLAN_TAG)
      return -SHORT;
    vlan = half(data + 14) & 0xfff;
    cut = VXLAN_TAG;
    memmove(data + cut, data, 12);
  }
  int32_t index = s->by_vlan[vlan];
  if (index == 0)
    return -UNKNOWN_VLAN;
  int32_t remote = remote_of(s, data + cut, index);
  p->hash[0] = (uint32_t)s->vnis[index].vni;
  p->hash[1] = (uint32_t)(remote ? remote : index);
  return remote ? cut : cut | VXLAN_FLOOD;
}

/* Decap.drops, in its order; negated they are what pg_vxlan_check returns. */
enum {
  HOST, SHORT_FRAME, OTHER_MAC, OTHER_ADDRESS, BAD_LENGTH, BAD_CHECKSUM, FRAGMENT,
  OTHER_PORT, BAD_UDP_CHECKSUM, NO_VNI, UNKNOWN_VNI, BAD_SOURCE, INNER_TAG,
  OTHER_PROTOCOL, CONGESTED
};

enum { NOT_ECT, ECT1, ECT0, CE }; /* ECN field, RFC 3168 */

/* What becomes of the inner ECN field; -1: the packet must be dropped, for congestion
 * was met, and its sender wouldn't hear of it (RFC 6040, section 4.2). */
static inline int combined(uint32_t inner, uint32_t outer)
{
  if (outer == CE)
    return inner == NOT_ECT ? -1 : CE;
  return outer == ECT1 && inner == ECT0 ? ECT1 : (int)inner;
}

/* Change an IPv4 header's ECN field, and its checksum with it (RFC 1624). */
static void set_ecn4(uint8_t *ip, uint32_t ecn)
{
  uint32_t sum = (0xffff - half(ip + 10)) + (0xffff - ip[1]);
  ip[1] = (uint8_t)((ip[1] & 0xfc) | ecn);
  sum += ip[1];
  sum = (sum & 0xffff) + (sum >> 16);
  sum = 0xffff - ((sum & 0xffff) + (sum >> 16));
  ip[10] = (uint8_t)(sum >> 8);
  ip[11] = (uint8_t)sum;
}

/* Carry the outer ECN field over to the frame of `length` bytes (at least 14); false
 * if it must be dropped. */
static bool carry_over(uint8_t *frame, uint32_t length, uint32_t outer)
{
  uint8_t *ip = frame + ETHERNET;
  uint32_t type = half(frame + 12);
  if (type == TYPE_IP4 && length >= ETHERNET + IP4) {
    int ecn = combined(ip[1] & 3, outer);
    if (ecn != (ip[1] & 3) && ecn >= 0)
      set_ecn4(ip, (uint32_t)ecn);
    return ecn >= 0;
  }
  if (type == TYPE_IP6 && length >= ETHERNET + IP6) {
    int ecn = combined(ip[1] >> 4 & 3, outer);
    if (ecn >= 0)
      ip[1] = (uint8_t)((ip[1] & 0xcf) | ecn << 4);
    return ecn >= 0;
  }
  return true;
}

/* Does the forwarding table say that the frame's source, in the VNI of this number, is
 * behind the remote with the address of `size` bytes? Then the entry is fresh. */
static bool confirm(const struct vxlan_end *end, const uint8_t *frame, int32_t number,
                    const uint8_t *address, uint32_t size)
{
  uint32_t rest = (uint32_t)number << 16;
  uint16_t last;
  memcpy(&last, frame + 10, sizeof last);
  int32_t at = pg_fdb_find(end->slot, end->mask, end->seed, (int32_t)word(frame + 6),
                           (int32_t)(rest | last));
  if (at < 0)
    return false;
  struct vtep_entry *entry = &end->slot[at];
  if (memcmp(end->remotes[entry->remote & REMOTE].peer, address, size) != 0)
    return false;
  entry->seen = *end->now;
  return true;
}

/* UDP at offset `at` of the frame, with `left` bytes of IP's payload from there on;
 * `size` bytes of IP addresses are at `addresses`. */
static int32_t check_vxlan(const struct vxlan_end *end, uint8_t *data,
                           uint32_t at, uint32_t left, const uint8_t *addresses,
                           uint32_t size, uint32_t ecn)
{
  const uint8_t *udp = data + at;
  uint8_t *frame = data + at + UDP_VXLAN;
  if (left < UDP_VXLAN + ETHERNET)
    return -SHORT_FRAME;
  if (half(udp + 2) != end->port)
    return -OTHER_PORT;
  uint32_t length = half(udp + 4);
  if (length < UDP_VXLAN + ETHERNET || length > left)
    return -BAD_LENGTH;
  if (half(udp + 6) != 0 &&
      pg_checksum(udp, length, pg_pseudo_sum(addresses, size, UDP, length)) != 0)
    return -BAD_UDP_CHECKSUM;
  if (!(udp[8] & VNI_FLAG))
    return -NO_VNI;
  uint32_t vni = half(udp + 12) << 8 | udp[14];
  int32_t number = end->leaf[end->page[vni / LEAF] + (int32_t)(vni % LEAF)];
  if (number == 0)
    return -UNKNOWN_VNI;
  if (frame[6] & 1) /* a group's address as the source */
    return -BAD_SOURCE;
  uint32_t type = half(frame + 12);
  if ((type == TYPE_CTAG || type == TYPE_STAG) && !end->keep_tags)
    return -INNER_TAG;
  if ((ecn & 1) && !carry_over(frame, length - UDP_VXLAN, ecn)) /* ECT(1) or CE */
    return -CONGESTED;
  int32_t found = (int32_t)((uint32_t)number << 8 | (at + UDP_VXLAN));
  return confirm(end, frame, number, addresses, size / 2) ? found : found | VXLAN_NEWS;
}

/* Is the checksum of the IPv4 header right (RFC 1071)? */
static inline bool sound(const uint8_t *ip, uint32_t header)
{
  uint64_t sum = 0;
  for (uint32_t i = 0; i < header; i += 4)
    sum += word(ip + i);
  sum = (sum & 0xffffffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

static int32_t check4(const struct vxlan_end *end, uint8_t *data, uint32_t length)
{
  const uint8_t *ip = data + ETHERNET;
  if (half(data + 12) != TYPE_IP4)
    return half(data + 12) == TYPE_ARP ? HOST : -OTHER_PROTOCOL;
  if (length < ETHERNET + IP4)
    return -SHORT_FRAME;
  if (memcmp(data, end->mac, sizeof end->mac) != 0)
    return -OTHER_MAC;
  if (memcmp(ip + 16, end->ip, 4) != 0)
    return -OTHER_ADDRESS;
  uint32_t header = (ip[0] & 15u) * 4, total = half(ip + 2);
  if (ip[0] >> 4 != 4 || header < IP4 || total < header || total + ETHERNET > length)
    return -BAD_LENGTH;
  if (!sound(ip, header))
    return -BAD_CHECKSUM;
  if (half(ip + 6) & 0x3fff)
    return -FRAGMENT;
  if (ip[9] != UDP)
    return HOST;
  return check_vxlan(end, data, ETHERNET + header, total - header, ip + 12, 8,
                     ip[1] & 3);
}

static int32_t check6(const struct vxlan_end *end, uint8_t *data, uint32_t length)
{
  const uint8_t *ip = data + ETHERNET;
  if (half(data + 12) != TYPE_IP6)
    return -OTHER_PROTOCOL;
  if (length < ETHERNET + IP6)
    return -SHORT_FRAME;
  if (ip[0] >> 4 != 6 || half(ip + 4) + ETHERNET + IP6 > length)
    return -BAD_LENGTH;
  if (memcmp(data, end->mac, sizeof end->mac) != 0) /* solicitations go to groups */
    return half(data) == 0x3333 ? HOST : -OTHER_MAC;
  if (ip[6] == FRAGMENT_HEADER)
    return -FRAGMENT;
  if (ip[6] != UDP)
    return HOST;
  if (memcmp(ip + 24, end->ip, sizeof end->ip) != 0)
    return -OTHER_ADDRESS;
  return check_vxlan(end, data, ETHERNET + IP6, half(ip + 4), ip + 8, 32,
                     ip[1] >> 4 & 3);
}

/* Is the frame a VXLAN packet for this end, and sound? Then: the offset of the frame in
 * it (8 bits), which gets the outer congestion mark, above that the number of its VNI,
 * and VXLAN_NEWS unless the forwarding table has the inner source with this remote; an
 * entry that says so is refreshed. Otherwise 0, for what may concern the host (ARP,
 * ICMP), or the number of a drop, negated. */
int32_t pg_vxlan_check(const struct vxlan_end *end, uint8_t *data, int32_t length)
{
  if (length < ETHERNET)
    return -SHORT_FRAME;
  return (end->family == 4 ? check4 : check6)(end, data, (uint32_t)length);
}
