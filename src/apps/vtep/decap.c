/* SPDX-License-Identifier: Apache-2.0
 *
 * What the underlay sends, checked (apps.vtep.decap): so many exits would be as many
 * traces of LuaJIT's.
 */
#include "../../net/checksum/sum.h"
#include "../../net/fdb/find.h"
#include "internal.h"

enum { VNI_FLAG = 8, LEAF = 4096 };

/* Decap.drops, in its order; negated they are what pg_vxlan_check returns. */
enum {
  HOST, SHORT_FRAME, OTHER_MAC, OTHER_ADDRESS, BAD_LENGTH, BAD_CHECKSUM, FRAGMENT,
  OTHER_PORT, BAD_UDP_CHECKSUM, NO_VNI, UNKNOWN_VNI, BAD_SOURCE, INNER_TAG,
  OTHER_PROTOCOL, CONGESTED, BAD_OUTER_SOURCE, CONTROL, UNKNOWN_REMOTE
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
  uint16_t before = load16(ip);
  ip[1] = (uint8_t)((ip[1] & 0xfc) | ecn);
  uint16_t change = pg_add_change(0, before, load16(ip));
  store16(ip + IP4_CHECKSUM, pg_changed_sum(load16(ip + IP4_CHECKSUM), change));
}

/* Carry the outer ECN field over to the frame of `length` bytes (at least 14); false
 * if it must be dropped. */
static bool carry_over(uint8_t *frame, uint32_t length, uint32_t outer)
{
  uint8_t *ip = frame + ETHERNET_HEADER;
  uint32_t type = get16(frame + 12);
  if (type == TYPE_IP4 && length >= ETHERNET_HEADER + IP4_HEADER) {
    int ecn = combined(ip[1] & 3, outer);
    if (ecn != (ip[1] & 3) && ecn >= 0)
      set_ecn4(ip, (uint32_t)ecn);
    return ecn >= 0;
  }
  if (type == TYPE_IP6 && length >= ETHERNET_HEADER + IP6_HEADER) {
    int ecn = combined(ip[1] >> 4 & 3, outer);
    if (ecn >= 0)
      ip[1] = (uint8_t)((ip[1] & 0xcf) | ecn << 4);
    return ecn >= 0;
  }
  return true;
}

/* Does the forwarding table say that the frame's source, in the VNI of this number, is
 * behind the remote with the address of `size` bytes? Then the entry is fresh, and this
 * its remote's number; else 0. */
static int32_t confirm(const struct vxlan_end *end, const uint8_t *frame,
                       int32_t number, const uint8_t *address, uint32_t size)
{
  uint64_t key = fdb_key(frame + 6, (uint32_t)number);
  struct fdb_record *entry = fdb_find(end->fdb, key, fdb_hash(end->fdb, key));
  if (!entry)
    return 0;
  int32_t remote = fdb_port(entry);
  if (memcmp(end->remotes->remote[remote].peer, address, size) != 0)
    return 0;
  fdb_seen(end->fdb, entry);
  return remote;
}

static inline void count(struct vtep_counts *counts, uint32_t length)
{
  counts->received++;
  counts->received_bytes += length;
}

/* The frame of `length` bytes, of the VNI of this number, is let in: count it. Its flags
 * for pg_vxlan_check; or the number of a drop, negated. */
static int32_t let_in(const struct vxlan_end *end, const uint8_t *frame,
                      uint32_t length, int32_t number, const uint8_t *address,
                      uint32_t size)
{
  int32_t flags = 0, remote = confirm(end, frame, number, address, size);
  if (!remote) {
    int32_t whole[4] = {0};
    memcpy(whole, address, size);
    remote = pg_remote_find(end->remotes, whole);
    if (!remote && end->strict)
      return -UNKNOWN_REMOTE;
    flags = remote ? VXLAN_NEWS : VXLAN_NEWS | VXLAN_STRANGER;
  }
  if (remote)
    count(&end->remotes->remote[remote].counts, length);
  count(&end->vnis[number].counts, length);
  return flags;
}

/* UDP at offset `at` of the frame, with `left` bytes of IP's payload from there on;
 * `size` bytes of IP addresses are at `addresses`. */
static int32_t check_vxlan(const struct vxlan_end *end, uint8_t *data,
                           uint32_t at, uint32_t left, const uint8_t *addresses,
                           uint32_t size, uint32_t ecn)
{
  const uint8_t *udp = data + at;
  uint8_t *frame = data + at + UDP_VXLAN;
  if (left < UDP_VXLAN + ETHERNET_HEADER)
    return -SHORT_FRAME;
  if (get16(udp + 2) != end->port)
    return -OTHER_PORT;
  uint32_t length = get16(udp + 4);
  if (length < UDP_VXLAN + ETHERNET_HEADER || length > left)
    return -BAD_LENGTH;
  if (get16(udp + 6) != 0 &&
      pg_fold_not(pg_pseudo(addresses, size, IPPROTO_UDP, length) +
                  pg_sum_bytes(udp, length)))
    return -BAD_UDP_CHECKSUM;
  if (!(udp[8] & VNI_FLAG))
    return -NO_VNI;
  uint32_t vni = get16(udp + 12) << 8 | udp[14];
  int32_t number = end->leaf[end->page[vni / LEAF] + (int32_t)(vni % LEAF)];
  if (number == 0)
    return -UNKNOWN_VNI;
  if (frame[6] & 1) /* a group's address as the source */
    return -BAD_SOURCE;
  uint32_t type = get16(frame + 12);
  if (is_vlan_type(type) && !end->keep_tags)
    return -INNER_TAG;
  if (!end->flood_control && is_control(frame, type))
    return -CONTROL;
  if ((ecn & 1) && !carry_over(frame, length - UDP_VXLAN, ecn)) /* ECT(1) or CE */
    return -CONGESTED;
  int32_t flags = let_in(end, frame, length - UDP_VXLAN, number, addresses, size / 2);
  return flags < 0 ? flags
    : flags | (int32_t)((uint32_t)number << 8 | (at + UDP_VXLAN));
}

/* Can one host, but this one, have the address (RFC 6890)? */
static inline bool is_other_host4(const struct vxlan_end *end, const uint8_t *ip)
{
  return ip[0] != 0 && ip[0] != 127 && ip[0] < 224 && memcmp(ip, end->ip, 4) != 0 &&
    memcmp(ip, end->broadcast, 4) != 0;
}

static inline bool is_other_host6(const struct vxlan_end *end, const uint8_t *ip)
{
  static const uint8_t zeros[15];
  return ip[0] != 0xff && memcmp(ip, zeros, sizeof zeros) != 0 &&
    memcmp(ip, end->ip, sizeof end->ip) != 0;
}

static int32_t check4(const struct vxlan_end *end, uint8_t *data, uint32_t length)
{
  const uint8_t *ip = data + ETHERNET_HEADER;
  if (get16(data + 12) != TYPE_IP4)
    return get16(data + 12) == TYPE_ARP ? HOST : -OTHER_PROTOCOL;
  if (length < ETHERNET_HEADER + IP4_HEADER)
    return -SHORT_FRAME;
  if (memcmp(data, end->mac, sizeof end->mac) != 0)
    return -OTHER_MAC;
  if (memcmp(ip + 16, end->ip, 4) != 0)
    return -OTHER_ADDRESS;
  uint32_t header = (ip[0] & 15u) * 4, total = get16(ip + 2);
  if (ip[0] >> 4 != 4 || header < IP4_HEADER || total < header ||
      total + ETHERNET_HEADER > length)
    return -BAD_LENGTH;
  if (pg_fold_not(pg_sum_words(ip, header)) != 0)
    return -BAD_CHECKSUM;
  if (get16(ip + IP4_FRAGMENT) & IP4_PART)
    return -FRAGMENT;
  if (!is_other_host4(end, ip + 12))
    return -BAD_OUTER_SOURCE;
  if (ip[IP4_PROTOCOL] != IPPROTO_UDP)
    return HOST;
  return check_vxlan(end, data, ETHERNET_HEADER + header, total - header, ip + 12, 8,
                     ip[1] & 3);
}

static int32_t check6(const struct vxlan_end *end, uint8_t *data, uint32_t length)
{
  const uint8_t *ip = data + ETHERNET_HEADER;
  if (get16(data + 12) != TYPE_IP6)
    return -OTHER_PROTOCOL;
  if (length < ETHERNET_HEADER + IP6_HEADER)
    return -SHORT_FRAME;
  if (ip[0] >> 4 != 6 || get16(ip + 4) + ETHERNET_HEADER + IP6_HEADER > length)
    return -BAD_LENGTH;
  if (memcmp(data, end->mac, sizeof end->mac) != 0) /* solicitations go to groups */
    return get16(data) == 0x3333 ? HOST : -OTHER_MAC;
  if (ip[IP6_NEXT] == IPPROTO_FRAGMENT)
    return -FRAGMENT;
  if (ip[IP6_NEXT] != IPPROTO_UDP)
    return HOST;
  if (memcmp(ip + 24, end->ip, sizeof end->ip) != 0)
    return -OTHER_ADDRESS;
  if (!is_other_host6(end, ip + 8))
    return -BAD_OUTER_SOURCE;
  return check_vxlan(end, data, ETHERNET_HEADER + IP6_HEADER, get16(ip + 4), ip + 8, 32,
                     ip[1] >> 4 & 3);
}

/* Is the frame a VXLAN packet for this end, and sound? Then: the offset of the frame in
 * it (8 bits), which gets the outer congestion mark, above that the number of its VNI,
 * and VXLAN_NEWS unless the forwarding table has the inner source with this remote; an
 * entry that says so is refreshed. VXLAN_STRANGER if there is no such remote, so that it
 * couldn't be counted for it. Otherwise 0, for what may concern the host (ARP,
 * ICMP), or the number of a drop, negated. */
int32_t pg_vxlan_check(const struct vxlan_end *end, uint8_t *data, int32_t length)
{
  if (length < ETHERNET_HEADER)
    return -SHORT_FRAME;
  return (end->family == 4 ? check4 : check6)(end, data, (uint32_t)length);
}
