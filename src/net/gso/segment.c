/* SPDX-License-Identifier: Apache-2.0
 *
 * Segmentation as a card does it (TSO, USO): each segment has the headers of the whole,
 * with its own lengths, IPv4 identification, TCP sequence number and flags, and all
 * checksums computed. Through tunnels the outer headers get theirs, too.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_common.h>

#include "../../native/api.h"
#include "../checksum/sum.h"
#include "segment.h"

static uint8_t protocol_of(const struct virtio_net_hdr *offload)
{
  switch (offload->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
  case VIRTIO_NET_HDR_GSO_TCPV4:
  case VIRTIO_NET_HDR_GSO_TCPV6:
    return IPPROTO_TCP;
  case VIRTIO_NET_HDR_GSO_UDP_L4:
    return IPPROTO_UDP;
  }
  return 0;
}

bool pg_unsegmented(struct unsegmented *u, uint32_t n, uint32_t length,
                    const struct virtio_net_hdr *offload)
{
  bool at_known = offload->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM;
  uint8_t protocol = protocol_of(offload);
  if (protocol == 0 || offload->gso_size == 0 ||
      !pg_layers(&u->layers, u->headers, RTE_MIN(n, (uint32_t)MOST_HEADERS), protocol,
                 at_known ? offload->csum_start : 0) ||
      length <= u->layers.end)
    return false;
  u->cwr_once = offload->gso_type & VIRTIO_NET_HDR_GSO_ECN;
  u->size = offload->gso_size;
  u->payload = length - u->layers.end;
  uint32_t count = (u->payload + u->size - 1) / u->size;
  u->count = count;
  return count <= MOST_SEGMENTS;
}

/* Over the pseudo header of the IP header at `ip` and what is from `l4` to `end`. */
static uint16_t l4_sum(const uint8_t *ip, const uint8_t *l4, const uint8_t *end,
                       uint32_t protocol)
{
  uint32_t bytes = end - l4;
  bool is_ip4 = ip[0] >> 4 == 4;
  uint64_t sum = pg_pseudo(ip + (is_ip4 ? IP4_ADDRESSES : IP6_ADDRESSES),
                           is_ip4 ? 8 : 32, protocol, bytes) + pg_sum_bytes(l4, bytes);
  return pg_sum_to_send(protocol, pg_fold_not(sum));
}

static void write_lengths(const struct unsegmented *u, uint32_t i, uint8_t *packet,
                          const uint8_t *end)
{
  for (int k = 0; k < u->layers.count; k++) {
    uint8_t *at = packet + u->layers.of[k].at;
    switch (u->layers.of[k].kind) {
    case LAYER_IP4:
      put16(at + IP4_LENGTH, end - at);
      put16(at + IP4_ID, get16(at + IP4_ID) + i);
      store16(at + IP4_CHECKSUM, 0);
      store16(at + IP4_CHECKSUM, pg_fold_not(pg_sum_words(at, (at[0] & 15) * 4)));
      break;
    case LAYER_IP6:
      put16(at + IP6_LENGTH, end - at - IP6_HEADER);
      break;
    case LAYER_UDP:
      put16(at + UDP_LENGTH, end - at);
    }
  }
}

static void write_tcp(const struct unsegmented *u, uint32_t i, uint8_t *tcp)
{
  put32(tcp + TCP_SEQUENCE, get32(tcp + TCP_SEQUENCE) + i * u->size);
  if (i + 1 < u->count)
    tcp[TCP_FLAGS] &= ~(TCP_FIN | TCP_PSH);
  if (i > 0 && u->cwr_once)
    tcp[TCP_FLAGS] &= ~TCP_CWR;
}

/* The UDP headers of tunnels that have a checksum, the innermost first. */
static void write_tunnel_sums(const struct unsegmented *u, uint8_t *packet,
                              const uint8_t *end)
{
  for (int k = u->layers.count - 1; k > 0; k--) {
    uint8_t *udp = packet + u->layers.of[k].at;
    if (u->layers.of[k].kind != LAYER_UDP || get16(udp + UDP_CHECKSUM) == 0)
      continue;
    store16(udp + UDP_CHECKSUM, 0);
    store16(udp + UDP_CHECKSUM,
                  l4_sum(packet + u->layers.of[k - 1].at, udp, end, IPPROTO_UDP));
  }
}

void pg_segment_headers(const struct unsegmented *u, uint32_t i, uint8_t *packet)
{
  const struct layers *l = &u->layers;
  const uint8_t *end = packet + l->end + pg_segment_payload(u, i);
  uint8_t *l4 = packet + l->l4, *ip = packet + l->of[l->count - 1].at;
  memcpy(packet, u->headers, l->end);
  write_lengths(u, i, packet, end);
  if (l->protocol == IPPROTO_TCP) {
    write_tcp(u, i, l4);
    store16(l4 + TCP_CHECKSUM, 0);
    store16(l4 + TCP_CHECKSUM, l4_sum(ip, l4, end, IPPROTO_TCP));
  } else {
    put16(l4 + UDP_LENGTH, end - l4);
    store16(l4 + UDP_CHECKSUM, 0);
    store16(l4 + UDP_CHECKSUM, l4_sum(ip, l4, end, IPPROTO_UDP));
  }
  write_tunnel_sums(u, packet, end);
}
