/* SPDX-License-Identifier: Apache-2.0
 *
 * TCP segments are joined only if cutting the frame up again gives the very same ones:
 * headers equal but for what follows from their order, and all checksums right, since
 * the kernel that takes the frame computes them again, or doesn't look at them.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include "../../native/api.h"
#include "../checksum/sum.h"
#include "join.h"
#include "layers.h"

enum { LONGEST_IP = 65535 };

/* Where a segment's headers are; offsets from the frame's beginning. */
struct segment {
  const uint8_t *frame;
  uint16_t ip, tcp, payload, length; /* `length`: where the payload ends */
  bool is_ip4;
};

/* Is that a TCP segment with payload, in one frame without padding, and with no flags
 * but ACK and PSH? */
static inline bool find_segment(struct segment *s, const struct rte_mbuf *m)
{
  const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
  uint16_t n = m->data_len, ip = ETHERNET_HEADER;
  if (n < ETHERNET_HEADER + VLAN_TAG + IP4_HEADER + TCP_HEADER)
    return false;
  if (is_vlan_type(get16(frame + ip - 2)))
    ip += VLAN_TAG;
  uint16_t type = get16(frame + ip - 2);
  uint32_t tcp, bytes;
  if (type == TYPE_IP4) {
    if (frame[ip + IP4_PROTOCOL] != IPPROTO_TCP || frame[ip] >> 4 != 4 ||
        get16(frame + ip + IP4_FRAGMENT) & IP4_PART)
      return false;
    tcp = ip + (frame[ip] & 15) * 4;
    bytes = get16(frame + ip + IP4_LENGTH);
    if (tcp < (uint32_t)ip + IP4_HEADER)
      return false;
  } else {
    if (type != TYPE_IP6 || frame[ip + IP6_NEXT] != IPPROTO_TCP || frame[ip] >> 4 != 6)
      return false;
    tcp = ip + IP6_HEADER;
    bytes = get16(frame + ip + IP6_LENGTH) + IP6_HEADER;
  }
  if (ip + bytes != n || tcp + TCP_HEADER > n ||
      (frame[tcp + TCP_FLAGS] & ~TCP_PSH) != TCP_ACK_FLAG)
    return false;
  uint32_t length = (frame[tcp + TCP_OFFSET] >> 4) * 4;
  *s = (struct segment){frame, ip, tcp, tcp + length, n, type == TYPE_IP4};
  return length >= TCP_HEADER && s->payload < n;
}

static uint64_t pseudo(const struct segment *s, uint32_t bytes)
{
  const uint8_t *ip = s->frame + s->ip;
  return s->is_ip4 ? pg_pseudo(ip + IP4_ADDRESSES, 8, IPPROTO_TCP, bytes)
                   : pg_pseudo(ip + IP6_ADDRESSES, 32, IPPROTO_TCP, bytes);
}

/* A sum over what has a right checksum in it is all ones. */
static bool checksums_right(const struct segment *s)
{
  uint32_t bytes = s->length - s->tcp;
  return (!s->is_ip4 || pg_fold_not(pg_sum_words(s->frame + s->ip,
                                                 s->tcp - s->ip)) == 0) &&
         pg_fold_not(pseudo(s, bytes) + pg_sum_bytes(s->frame + s->tcp, bytes)) == 0;
}

static bool same(const struct segment *a, const struct segment *b, uint32_t from,
                 uint32_t to)
{
  return memcmp(a->frame + from, b->frame + from, to - from) == 0;
}

/* Do the IP headers differ in nothing but length, checksum, and by `i` in IPv4's
 * identification? */
static bool same_ip(const struct segment *a, const struct segment *b, uint16_t i)
{
  uint32_t ip = a->ip;
  if (!a->is_ip4)
    return same(a, b, 0, ip + IP6_LENGTH) && same(a, b, ip + IP6_NEXT, a->tcp);
  uint16_t id = get16(a->frame + ip + IP4_ID) + i;
  return same(a, b, 0, ip + IP4_LENGTH) && get16(b->frame + ip + IP4_ID) == id &&
         same(a, b, ip + IP4_FRAGMENT, ip + IP4_CHECKSUM) &&
         same(a, b, ip + IP4_ADDRESSES, a->tcp);
}

/* Is `b` the segment `i` of those that begin with `a`, `offset` bytes further on? */
static bool continues(const struct segment *a, const struct segment *b, uint16_t i,
                      uint32_t offset)
{
  uint32_t tcp = a->tcp;
  return b->ip == a->ip && b->tcp == tcp && b->payload == a->payload &&
         b->is_ip4 == a->is_ip4 && b->length <= a->length &&
         get32(b->frame + tcp + TCP_SEQUENCE) ==
           get32(a->frame + tcp + TCP_SEQUENCE) + offset &&
         same_ip(a, b, i) && same(a, b, tcp, tcp + TCP_SEQUENCE) &&
         same(a, b, tcp + TCP_ACK, tcp + TCP_FLAGS) &&
         same(a, b, tcp + TCP_FLAGS + 1, tcp + TCP_CHECKSUM) &&
         same(a, b, tcp + TCP_CHECKSUM + 2, a->payload) && checksums_right(b);
}

/* The headers of all `j->count` together, with `payload` bytes; TCP's checksum holds
 * the sum over the pseudo header, as devices want it. */
static void write_headers(struct joined *j, const struct segment *first,
                          const struct segment *last, uint32_t payload)
{
  uint32_t bytes = first->payload - first->tcp + payload;
  uint8_t *ip = j->headers + first->ip, *tcp = j->headers + first->tcp;
  uint16_t sum;
  memcpy(j->headers, first->frame, first->payload);
  j->headers_length = first->payload;
  if (first->is_ip4) {
    put16(ip + IP4_LENGTH, first->tcp - first->ip + bytes);
    memset(ip + IP4_CHECKSUM, 0, sizeof sum);
    sum = pg_fold_not(pg_sum_words(ip, first->tcp - first->ip));
    memcpy(ip + IP4_CHECKSUM, &sum, sizeof sum);
  } else {
    put16(ip + IP6_LENGTH, bytes);
  }
  tcp[TCP_FLAGS] |= last->frame[last->tcp + TCP_FLAGS];
  sum = ~pg_fold_not(pseudo(first, bytes));
  memcpy(tcp + TCP_CHECKSUM, &sum, sizeof sum);
  j->offload = (struct virtio_net_hdr){
    .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
    .gso_type = first->is_ip4 ? VIRTIO_NET_HDR_GSO_TCPV4 : VIRTIO_NET_HDR_GSO_TCPV6,
    .hdr_len = first->payload, .gso_size = first->length - first->payload,
    .csum_start = first->tcp, .csum_offset = TCP_CHECKSUM};
}

static bool pushes(const struct segment *s)
{
  return s->frame[s->tcp + TCP_FLAGS] & TCP_PSH;
}

uint16_t pg_join(struct joined *j, struct rte_mbuf **packets, uint16_t n)
{
  struct segment first, last, next;
  uint16_t count = 1;
  if (n < 2 || likely(!find_segment(&first, packets[0])) || pushes(&first))
    return 1;
  uint32_t size = first.length - first.payload, payload = size;
  last = first;
  while (count < RTE_MIN(n, (uint16_t)MOST_JOINED) && last.length == first.length &&
         !pushes(&last) && find_segment(&next, packets[count]) &&
         first.payload + payload + size <= LONGEST_IP &&
         continues(&first, &next, count, payload) &&
         (count > 1 || checksums_right(&first))) {
    last = next;
    payload += next.length - next.payload;
    count++;
  }
  j->count = count;
  if (count > 1)
    write_headers(j, &first, &last, payload);
  return count;
}
