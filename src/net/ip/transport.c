/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks from an Ethernet header over VLAN tags, the first IP header and IPv6's extension
 * headers to what IP carries: of fragments, too. Not into tunnels (net/gso/layers.h does
 * that). No length in the data is believed.
 */
#include <netinet/in.h>

#include "../wire/ip4_options.h"
#include "../wire/ip6_extensions.h"
#include "../wire/vlan_tags.h"
#include "../wire/wire.h"
#include "transport.h"

static void end_at(struct transport *t, uint32_t end, uint32_t n)
{
  t->cut = end > n;
  t->end = t->cut ? n : end;
}

static bool ip4(struct transport *t, const uint8_t *data, uint32_t n)
{
  const uint8_t *ip = data + t->ip;
  uint32_t header = (ip[0] & 15) * 4, total = get16(ip + IP4_LENGTH);
  if (header < IP4_HEADER || n < t->ip + header || (total > 0 && total < header))
    return false;
  uint32_t fragment = get16(ip + IP4_FRAGMENT);
  t->offset = (fragment & IP4_OFFSET) * 8;
  t->fragment = fragment & IP4_PART;
  t->protocol = ip[IP4_PROTOCOL];
  t->l4 = t->ip + header;
  end_at(t, total > 0 ? t->ip + total : n, n);
  t->routed = header > IP4_HEADER && ip4_source_route(ip, header);
  return true;
}

static bool ip6(struct transport *t, const uint8_t *data, uint32_t n)
{
  const uint8_t *ip = data + t->ip;
  uint32_t payload = get16(ip + IP6_LENGTH);
  end_at(t, payload > 0 ? t->ip + IP6_HEADER + payload : n, n);
  t->protocol = ip[IP6_NEXT];
  t->l4 = t->ip + IP6_HEADER;
  while (ip6_is_extension(t->protocol) && t->offset == 0) {
    if (t->end < t->l4 + IP6_EXTENSION_LEAST)
      return true;
    const uint8_t *header = data + t->l4;
    if (t->protocol == IPPROTO_FRAGMENT) {
      uint32_t fragment = get16(header + IP6_FRAGMENT_FIELD);
      t->offset = fragment & 0xfff8;
      t->fragment = fragment & 0xfff9;
    } else if (t->protocol == IPPROTO_ROUTING && header[3] > 0) {
      t->routed = true;
    }
    t->l4 += ip6_extension_length(t->protocol, header);
    t->protocol = header[0];
  }
  return true;
}

/* Of the IP packet at offset `at`; false: there is no whole IP header. What it carries
 * may lie behind `end`. */
bool pg_transport_ip(struct transport *t, const uint8_t *data, uint32_t n, uint32_t at)
{
  *t = (struct transport){.ip = at};
  if (n < at + IP4_HEADER)
    return false;
  t->version = data[at] >> 4;
  if (t->version == 4)
    return ip4(t, data, n);
  return t->version == 6 && n >= at + IP6_HEADER && ip6(t, data, n);
}

/* Of an Ethernet frame; false: it has no whole IP header behind its tags. */
bool pg_transport(struct transport *t, const uint8_t *frame, uint32_t n)
{
  uint32_t at = 0, type = ethernet_type(frame, n, TRANSPORT_TAGS, &at);
  return (type == TYPE_IP4 || type == TYPE_IP6) && pg_transport_ip(t, frame, n, at) &&
         t->version == (type == TYPE_IP4 ? 4 : 6);
}
