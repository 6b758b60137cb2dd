/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments as they are in frames: every length is checked before what it is of is read.
 */
#include <string.h>

#include "../../native/api.h"
#include "../checksum/checksum.h"
#include "../wire/tcp_options.h"
#include "internal.h"

enum { MOST_SHIFT = 14 }; /* RFC 7323, section 2.3 */

static enum parsed malformed(struct tcp_endpoint *e)
{
  e->counts.malformed++;
  return PARSED_NOT;
}

static enum parsed not_ours(struct tcp_endpoint *e)
{
  e->counts.not_ours++;
  return PARSED_NOT;
}

static void read_options(const uint8_t *o, const uint8_t *end, struct segment *s)
{
  for (uint32_t n = 0; (o = option_from(o, end, &n)); o += n)
    if (*o == TCP_MSS && n == TCP_MSS_BYTES)
      s->mss = (uint16_t)get16(o + 2);
    else if (*o == TCP_WINDOW_SCALE && n == TCP_WINDOW_SCALE_BYTES)
      s->shift = (int8_t)least(o[2], MOST_SHIFT);
    else if (*o == TCP_SACK_PERMITTED && n == TCP_SACK_PERMITTED_BYTES)
      s->sack_permitted = true;
    else if (*o == TCP_SACK && n >= TCP_SACK_LEAST_BYTES)
      s->sacks = seq_before(s->ack, get32(o + 2));
}

static enum parsed read_tcp(struct tcp_endpoint *e, const uint8_t *tcp, uint32_t n,
                            struct segment *s)
{
  uint32_t header = n < TCP_HEADER ? 0 : (tcp[TCP_OFFSET] >> 4) * 4;
  if (header < TCP_HEADER || header > n)
    return malformed(e);
  s->key.remote_port = load16(tcp);
  s->key.local_port = load16(tcp + 2);
  s->seq = get32(tcp + TCP_SEQUENCE);
  s->ack = get32(tcp + TCP_ACK);
  s->flags = tcp[TCP_FLAGS];
  s->window = get16(tcp + 14);
  s->mss = 0;
  s->shift = -1;
  s->sack_permitted = s->sacks = false;
  read_options(tcp + TCP_HEADER, tcp + header, s);
  s->data = tcp + header;
  s->length = n - header;
  return PARSED_SEGMENT;
}

static enum parsed read_udp(struct tcp_endpoint *e, const uint8_t *udp, uint32_t n,
                            struct segment *s)
{
  uint32_t length = n < UDP_HEADER ? 0 : get16(udp + UDP_LENGTH);
  if (length < UDP_HEADER || length > n)
    return malformed(e);
  s->key.remote_port = load16(udp);
  s->key.local_port = load16(udp + 2);
  s->flags = 0;
  s->data = udp + UDP_HEADER;
  s->length = length - UDP_HEADER;
  return PARSED_SEGMENT;
}

/* An ICMP error (of `type` and `code`) that says that nobody listens to a client's
 * datagram: its headers are in there, from `at` on. It becomes a segment with TCP_RST. */
static bool read_unreachable(const struct tcp_endpoint *e, const uint8_t *icmp, uint32_t n,
                             struct segment *s)
{
  bool four = s->key.family == 4;
  uint32_t header = four ? IP4_HEADER : IP6_HEADER;
  if (!e->udp || e->server || n < 8 + header + UDP_HEADER)
    return false;
  const uint8_t *ip = icmp + 8;
  if (icmp[0] != (four ? 3 : 1) || icmp[1] != (four ? 3 : 4) ||
      ip[0] >> 4 != s->key.family || (four && (ip[0] & 15) != 5) ||
      ip[four ? IP4_PROTOCOL : IP6_NEXT] != IPPROTO_UDP)
    return false;
  uint32_t size = four ? 4 : 16;
  const uint8_t *addresses = ip + (four ? IP4_ADDRESSES : IP6_ADDRESSES);
  memcpy(s->key.local, addresses, size);
  memcpy(s->key.remote, addresses + size, size);
  s->key.local_port = load16(ip + header);
  s->key.remote_port = load16(ip + header + 2);
  s->key.protocol = IPPROTO_UDP;
  s->flags = TCP_RST;
  s->length = 0;
  return true;
}

static enum parsed read_l4(struct tcp_endpoint *e, const uint8_t *l4, uint32_t n,
                           struct segment *s)
{
  if (s->key.protocol == IPPROTO_TCP && !e->udp)
    return read_tcp(e, l4, n, s);
  if (s->key.protocol == IPPROTO_UDP && e->udp)
    return read_udp(e, l4, n, s);
  return not_ours(e);
}

/* A UDP checksum of 0 says that there is none (RFC 768); not in IPv6. */
static bool lacks_checksum(const struct segment *s, const uint8_t *l4)
{
  return s->key.protocol == IPPROTO_UDP && s->key.family == 4 &&
         load16(l4 + UDP_CHECKSUM) == 0;
}

static enum parsed read_ip4(struct tcp_endpoint *e, const uint8_t *ip, uint32_t n,
                            struct segment *s)
{
  uint32_t header = n < IP4_HEADER ? 0 : (ip[0] & 15) * 4;
  if (header < IP4_HEADER || ip[0] >> 4 != 4 || header > n)
    return malformed(e);
  uint32_t length = get16(ip + IP4_LENGTH);
  if (length < header || length > n)
    return malformed(e);
  if (get16(ip + IP4_FRAGMENT) & IP4_PART) {
    e->counts.fragments++;
    return PARSED_NOT;
  }
  s->key.family = 4;
  s->key.protocol = ip[IP4_PROTOCOL];
  memcpy(s->key.remote, ip + IP4_ADDRESSES, 4);
  memcpy(s->key.local, ip + IP4_ADDRESSES + 4, 4);
  const uint8_t *l4 = ip + header;
  if (s->key.protocol == IPPROTO_ICMP)
    return pg_checksum_word(l4, length - header) == 0 &&
               read_unreachable(e, l4, length - header, s)
             ? PARSED_SEGMENT : not_ours(e);
  enum parsed result = read_l4(e, l4, length - header, s);
  if (result == PARSED_SEGMENT &&
      (pg_checksum_word(ip, header) != 0 ||
       (!lacks_checksum(s, l4) && pg_ip4_l4_checksum(ip, l4, length - header) != 0))) {
    e->counts.bad_checksum++;
    return PARSED_NOT;
  }
  return result;
}

static enum parsed read_ip6(struct tcp_endpoint *e, const uint8_t *ip, uint32_t n,
                            struct segment *s)
{
  if (n < IP6_HEADER || ip[0] >> 4 != 6 || get16(ip + IP6_LENGTH) > n - IP6_HEADER)
    return malformed(e);
  uint32_t length = get16(ip + IP6_LENGTH);
  s->key.family = 6;
  s->key.protocol = ip[IP6_NEXT];
  if (s->key.protocol == IPPROTO_ICMPV6)
    return pg_ip6_l4_checksum(ip, ip + IP6_HEADER, length, IPPROTO_ICMPV6) == 0 &&
               read_unreachable(e, ip + IP6_HEADER, length, s)
             ? PARSED_SEGMENT : PARSED_OTHER;
  memcpy(s->key.remote, ip + IP6_ADDRESSES, 16);
  memcpy(s->key.local, ip + IP6_ADDRESSES + 16, 16);
  const uint8_t *l4 = ip + IP6_HEADER;
  enum parsed result = read_l4(e, l4, length, s);
  if (result == PARSED_SEGMENT &&
      pg_ip6_l4_checksum(ip, l4, length, s->key.protocol) != 0) {
    e->counts.bad_checksum++;
    return PARSED_NOT;
  }
  return result;
}

/* Is it for an address of this endpoint's? */
static bool is_ours(const struct tcp_endpoint *e, const struct segment *s)
{
  const struct tcp_addresses *own = e->server ? &e->servers : &e->clients;
  return own->family == s->key.family && pg_tcp_index(own, s->key.local) >= 0;
}

/* Groups send nothing: neither frames (IEEE 802) nor segments (RFC 9293, MUST-63). */
static bool is_of_host(const struct segment *s)
{
  uint8_t first = s->key.remote[0];
  return !(s->source_mac[0] & 1) && (s->key.family == 4 ? first < 224 : first != 0xff);
}

/* What of a frame is a segment for this endpoint. PARSED_OTHER: ARP or ICMPv6, for whoever
 * knows neighbours; PARSED_NOT: nothing, and counted. */
enum parsed tcp_parse(struct tcp_endpoint *e, const struct packet *p, struct segment *s)
{
  const uint8_t *frame = p->buf_addr + p->data_off;
  uint32_t n = p->length, l3 = ETHERNET_HEADER + (e->vlan ? VLAN_TAG : 0);
  if (n < l3)
    return malformed(e);
  uint32_t type = get16(frame + MAC_ADDRESSES);
  if (e->vlan) {
    if (type != TYPE_8021Q || (get16(frame + ETHERNET_HEADER) & 0xfff) != e->vlan)
      return not_ours(e);
    type = get16(frame + MAC_ADDRESSES + VLAN_TAG);
  }
  if (!(frame[0] & 1) && memcmp(frame, e->mac, 6) != 0)
    return not_ours(e);
  if (type == TYPE_ARP)
    return PARSED_OTHER;
  if (type != TYPE_IP4 && type != TYPE_IP6)
    return not_ours(e);
  memset(&s->key, 0, sizeof s->key);
  s->packet = p;
  s->source_mac = frame + 6;
  enum parsed result = (type == TYPE_IP4 ? read_ip4 : read_ip6)(e, frame + l3, n - l3, s);
  if (result != PARSED_SEGMENT)
    return result;
  if ((frame[0] & 1) || !is_ours(e, s))
    return not_ours(e);
  return is_of_host(s) ? PARSED_SEGMENT : malformed(e);
}
