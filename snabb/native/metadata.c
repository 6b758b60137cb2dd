/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of a packet once its headers have been looked through, kept at the
 * very start of its buffer: it stays there while apps move the packet's start, unless
 * they fill the headroom. apps/rss hands packets out by it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../../src/native/api.h"
#include "../../src/net/wire/ip6_extensions.h"
#include "../../src/net/wire/ports.h"
#include "../../src/net/wire/wire.h"
#include "snabb.h"

enum { MOBILITY = 135, HIP = 139, SHIM6 = 140 };

_Static_assert(sizeof(struct metadata) <= PACKET_HEADROOM / 2, "it doesn't fit");

/* Those that hold the number of the next header and their own length, as Snabb's. */
static bool is_extension(uint8_t protocol)
{
  return ip6_is_extension(protocol) || protocol == MOBILITY || protocol == HIP ||
         protocol == SHIM6;
}

/* Bytes of extension headers behind the IPv6 header, `room` of which are there; or 0
 * if they don't end within it. Sets protocol and frag_offset. */
static uint32_t pass_extensions(struct metadata *m, const uint8_t *payload,
                                uint32_t room)
{
  uint32_t size = 0;
  uint8_t protocol = m->proto;
  while (is_extension(protocol)) {
    const uint8_t *header = payload + size;
    if (room - size < IP6_EXTENSION_LEAST)
      return 0;
    if (protocol == IPPROTO_FRAGMENT)
      m->frag_offset = get16(header + IP6_FRAGMENT_FIELD) >> 3;
    size += ip6_extension_length(protocol, header);
    if (size > room)
      return 0;
    protocol = header[0];
  }
  m->proto = protocol;
  return size;
}

static void read_ip6(struct metadata *m, struct packet *p, uint8_t *l3, uint32_t room,
                     bool remove)
{
  uint32_t payload_size = get16(l3 + 4);
  m->proto = l3[6];
  uint8_t *payload = l3 + IP6_HEADER;
  uint32_t size = pass_extensions(m, payload, room - IP6_HEADER);
  if (remove && size && size <= payload_size) {
    payload_size -= size;
    put16(l3 + 4, payload_size);
    l3[6] = m->proto;
    memmove(payload, payload + size, room - IP6_HEADER - size);
    p->length -= size;
    size = 0;
  }
  m->total_length = payload_size + IP6_HEADER;
  m->l4_offset = m->l3_offset + IP6_HEADER + size;
}

static void read_ip4(struct metadata *m, const uint8_t *l3)
{
  m->total_length = get16(l3 + 2);
  m->frag_offset = get16(l3 + IP4_FRAGMENT) & IP4_OFFSET;
  m->proto = l3[9];
  m->l4_offset = m->l3_offset + (l3[0] & 15) * 4;
}

static void set_pointers(struct metadata *m, struct packet *p)
{
  uint8_t *data = p->buf_addr + p->data_off;
  m->filter_start = data + m->filter_offset;
  m->l3 = data + m->l3_offset;
  m->l4 = data + m->l4_offset;
}

/* Headroom for it, if need be by moving the packet; false if there can be none. */
static bool make_room(struct packet *p)
{
  if (p->data_off >= sizeof(struct metadata))
    return true;
  if (p->buf_len < PACKET_HEADROOM + p->length)
    return false;
  memmove(p->buf_addr + PACKET_HEADROOM, p->buf_addr + p->data_off, p->length);
  p->data_off = PACKET_HEADROOM;
  return true;
}

/* Make the packet's metadata; `remove` IPv6 extension headers from it. `vlan` is taken
 * for the one it has, unless it is negative. NULL if there is no room for metadata. */
struct metadata *pg_metadata_add(struct packet *p, bool remove, int vlan)
{
  if (!make_room(p))
    return NULL;
  uint8_t *data = p->buf_addr + p->data_off;
  struct metadata *m = (void *)p->buf_addr;
  memset(m, 0, sizeof *m);
  m->magic = METADATA_MAGIC;
  m->l3_offset = ETHERNET_HEADER;
  if (p->length >= ETHERNET_HEADER)
    m->ethertype = get16(data + 12);
  if (m->ethertype == TYPE_8021Q && p->length >= ETHERNET_HEADER + VLAN_TAG) {
    m->vlan = get16(data + 14) & 0xfff;
    m->ethertype = get16(data + 16);
    m->filter_offset = VLAN_TAG;
    m->l3_offset += VLAN_TAG;
  }
  if (vlan >= 0)
    m->vlan = vlan;
  m->l4_offset = m->l3_offset;
  uint32_t room = p->length > m->l3_offset ? p->length - m->l3_offset : 0;
  if (m->ethertype == TYPE_IP4 && room >= IP4_HEADER)
    read_ip4(m, data + m->l3_offset);
  else if (m->ethertype == TYPE_IP6 && room >= IP6_HEADER)
    read_ip6(m, p, data + m->l3_offset, room, remove);
  else
    m->total_length = room;
  m->filter_length = p->length > m->filter_offset ? p->length - m->filter_offset : 0;
  m->length_delta = p->length - m->l3_offset - m->total_length;
  if (room == 0)
    m->length_delta = 0;
  set_pointers(m, p);
  return m;
}

/* Give `to`, a copy of the packet `from`, a copy of its metadata. */
struct metadata *pg_metadata_copy(struct packet *to, const struct packet *from)
{
  if (!make_room(to))
    return NULL;
  struct metadata *m = (void *)to->buf_addr;
  memcpy(m, from->buf_addr, sizeof *m);
  set_pointers(m, to);
  return m;
}

/* The hash of addresses, protocol and ports of IP packets, 0 of others. What isn't in
 * the packet, or not in this fragment, counts as 0. */
static uint16_t flow_hash(const struct metadata *m, const struct packet *p,
                          const struct siphash *ip4, const struct siphash *ip6)
{
  bool is_ip6 = m->ethertype == TYPE_IP6;
  uint32_t addresses = is_ip6 ? 32 : 8, at = is_ip6 ? 8 : 12;
  if ((!is_ip6 && m->ethertype != TYPE_IP4) ||
      p->length < m->l3_offset + at + addresses)
    return 0;
  uint8_t key[32 + PORTS_BYTES + 1] = {0};
  memcpy(key, m->l3 + at, addresses);
  if (has_hashed_ports(m->proto) && m->frag_offset == 0 &&
      p->length >= m->l4_offset + PORTS_BYTES)
    memcpy(key + addresses, m->l4, PORTS_BYTES);
  key[addresses + PORTS_BYTES] = m->proto;
  return pg_siphash(is_ip6 ? ip6 : ip4, key) >> 1;
}

/* Make the metadata of `n` packets, and hash them. How many have it: the others, for
 * which there was no room, are the last then. */
int pg_metadata_burst(struct packet **packets, int n, bool remove, int vlan,
                      const struct siphash *ip4, const struct siphash *ip6)
{
  for (int i = 0; i < n;) {
    struct packet *p = packets[i];
    struct metadata *m = pg_metadata_add(p, remove, vlan);
    if (m) {
      m->hash = flow_hash(m, p, ip4, ip6);
      i++;
    } else {
      packets[i] = packets[--n];
      packets[n] = p;
    }
  }
  return n;
}
