/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks a frame's headers from the outermost to TCP or UDP: VLAN tags, IPv4, IPv6 with
 * extensions, and the tunnels for which Linux leaves segmentation to devices (VXLAN,
 * Geneve, GRE, IP in IP). No length in the frame is believed.
 */
#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "../wire/ip6_extensions.h"
#include "../wire/vlan_tags.h"
#include "layers.h"

enum { VXLAN_HEADER = 8, GENEVE_HEADER = 8, GENEVE_PORT = 6081, VXLAN_HAS_VNI = 8 };
enum { GRE_HEADER = 4, GRE_KEY = 0x2000 };

/* How far the walk is: what is next, and where. `protocol` -1: an Ethernet header;
 * -2: what `type` says; -3: nothing known; else what IP says. */
struct walk {
  const uint8_t *frame;
  uint32_t n, at;
  uint16_t type;
  int protocol;
};

enum { NEXT_ETHERNET = -1, NEXT_TYPE = -2, NEXT_UNKNOWN = -3 };

static bool has(const struct walk *w, uint32_t bytes)
{
  return w->at + bytes <= w->n;
}

static bool note(struct layers *l, const struct walk *w, enum layer kind)
{
  if (l->count == RTE_DIM(l->of))
    return false;
  l->of[l->count].at = w->at;
  l->of[l->count++].kind = kind;
  return true;
}

static bool ethernet(struct walk *w)
{
  if (w->at > w->n)
    return false;
  uint32_t bytes = 0;
  w->type = ethernet_type(w->frame + w->at, w->n - w->at, INT_MAX, &bytes);
  w->at += bytes;
  w->protocol = NEXT_TYPE;
  return w->type != 0;
}

static bool ip4(struct walk *w, struct layers *l)
{
  const uint8_t *ip = w->frame + w->at;
  uint32_t length = has(w, IP4_HEADER) ? (ip[0] & 15) * 4 : 0;
  if (length < IP4_HEADER || !has(w, length) || ip[0] >> 4 != 4 ||
      get16(ip + IP4_FRAGMENT) & IP4_PART || !note(l, w, LAYER_IP4))
    return false;
  w->protocol = ip[IP4_PROTOCOL];
  w->at += length;
  return true;
}

/* Extensions of which each segment may have a copy; not so of AH's checksum. */
static bool is_copied(int protocol)
{
  return protocol >= 0 && ip6_is_extension(protocol) && protocol != IPPROTO_FRAGMENT &&
         protocol != IPPROTO_AH;
}

static bool ip6(struct walk *w, struct layers *l)
{
  const uint8_t *ip = w->frame + w->at;
  if (!has(w, IP6_HEADER) || ip[0] >> 4 != 6 || !note(l, w, LAYER_IP6))
    return false;
  w->protocol = ip[IP6_NEXT];
  w->at += IP6_HEADER;
  while (is_copied(w->protocol)) {
    const uint8_t *header = w->frame + w->at;
    if (!has(w, IP6_EXTENSION_LEAST))
      return false;
    w->at += ip6_extension_length(w->protocol, header);
    w->protocol = header[0];
  }
  return true;
}

/* What is in a UDP datagram that isn't the one looked for: a tunnel. */
static bool udp_tunnel(struct walk *w, struct layers *l)
{
  const uint8_t *udp = w->frame + w->at, *tunnel = udp + UDP_HEADER;
  if (!has(w, UDP_HEADER + VXLAN_HEADER) || !note(l, w, LAYER_UDP))
    return false;
  w->protocol = NEXT_ETHERNET;
  if (get16(udp + 2) == GENEVE_PORT) {
    w->at += UDP_HEADER + GENEVE_HEADER + (tunnel[0] & 0x3f) * 4;
    w->type = get16(tunnel + 2);
    if (w->type != TYPE_BRIDGED)
      w->protocol = NEXT_TYPE;
    return true;
  }
  w->at += UDP_HEADER + VXLAN_HEADER;
  return tunnel[0] & VXLAN_HAS_VNI;
}

/* With a checksum or sequence numbers each segment would need its own. */
static bool gre(struct walk *w)
{
  const uint8_t *header = w->frame + w->at;
  uint16_t flags = has(w, GRE_HEADER) ? get16(header) : UINT16_MAX;
  if (flags & (uint16_t)~GRE_KEY)
    return false;
  w->type = get16(header + 2);
  w->protocol = w->type == TYPE_BRIDGED ? NEXT_ETHERNET : NEXT_TYPE;
  w->at += flags & GRE_KEY ? 2 * GRE_HEADER : GRE_HEADER;
  return true;
}

static bool step(struct walk *w, struct layers *l)
{
  int protocol = w->protocol;
  w->protocol = NEXT_UNKNOWN;
  if (protocol == NEXT_ETHERNET)
    return ethernet(w);
  if (protocol == IPPROTO_IPIP || (protocol == NEXT_TYPE && w->type == TYPE_IP4))
    return ip4(w, l);
  if (protocol == IPPROTO_IPV6 || (protocol == NEXT_TYPE && w->type == TYPE_IP6))
    return ip6(w, l);
  if (protocol == IPPROTO_UDP)
    return udp_tunnel(w, l);
  return protocol == IPPROTO_GRE && gre(w);
}

static uint32_t header_bytes(const struct walk *w)
{
  if (w->protocol == IPPROTO_UDP)
    return UDP_HEADER;
  return has(w, TCP_HEADER) ? (w->frame[w->at + TCP_OFFSET] >> 4) * 4 : 0;
}

bool pg_layers(struct layers *l, const uint8_t *frame, uint32_t n, uint8_t protocol,
               uint32_t wanted)
{
  struct walk w = {frame, n, 0, 0, NEXT_ETHERNET};
  l->count = 0;
  while (w.protocol != protocol || (wanted != 0 && w.at != wanted))
    if (!step(&w, l) || (wanted != 0 && w.at > wanted))
      return false;
  uint32_t length = header_bytes(&w);
  if (length < (protocol == IPPROTO_UDP ? UDP_HEADER : TCP_HEADER) || !has(&w, length))
    return false;
  l->l4 = w.at;
  l->end = w.at + length;
  l->protocol = protocol;
  return true;
}
