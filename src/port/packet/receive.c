/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames out of an AF_PACKET ring (TPACKET_V2, packet(7)), as they would be on the wire:
 * the VLAN tag that the kernel took out is put back with its own TPID, checksums that it
 * left to a card are computed, and what it left to be segmented is. A frame that is
 * longer than the ring's waits uncut in the socket's queue (PACKET_COPY_THRESH); of a
 * long one to be segmented, payload is read straight into the packets.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_mbuf.h>
#include <rte_memcpy.h>
#include <rte_prefetch.h>

#include "../../native/api.h"
#include "../../native/driver.h"
#include "../../native/first_line.h"
#include "../../net/checksum/checksum.h"
#include "../../net/checksum/sum.h"
#include "state.h"

enum { SCTP_CHECKSUM = 8 };

/* One frame of the ring. */
struct received {
  const uint8_t *data;
  uint32_t length, present;  /* bytes of the frame; of those, in the ring */
  bool waits;                /* the whole frame is in the socket's queue, too */
  uint8_t tag_bytes;         /* 0, or 4: to be put behind the addresses */
  uint16_t tag[2];
  struct virtio_net_hdr offload;
};

static inline struct tpacket2_hdr *next_frame(const struct packet_ring *r)
{
  return (struct tpacket2_hdr *)r->frame;
}

static inline bool is_filled(const struct tpacket2_hdr *h)
{
  return __atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER;
}

/* The frame is the kernel's again. */
static inline void give_back(struct packet_ring *r)
{
  __atomic_store_n(&next_frame(r)->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
  r->frame += r->frame_bytes;
  if (unlikely(++r->in_block == r->frames_per_block)) {
    r->in_block = 0;
    r->block = r->block + 1 == r->blocks ? 0 : r->block + 1;
    r->frame = r->memory + (size_t)r->block * r->block_bytes;
  }
}

static inline struct received look(const struct packet_ring *r)
{
  const struct tpacket2_hdr *h = next_frame(r);
  struct received f = {
    .data = r->frame + h->tp_mac, .length = h->tp_len, .present = h->tp_snaplen,
    .waits = h->tp_status & TP_STATUS_COPY};
  if (unlikely(h->tp_mac < sizeof *h + sizeof f.offload ||
               h->tp_mac + f.present > r->frame_bytes)) {
    f.present = 0;
    return f;
  }
  memcpy(&f.offload, f.data - sizeof f.offload, sizeof f.offload);
  if (h->tp_status & TP_STATUS_VLAN_VALID) {
    uint16_t tpid =
      h->tp_status & TP_STATUS_VLAN_TPID_VALID ? h->tp_vlan_tpid : TYPE_8021Q;
    f.tag_bytes = VLAN_TAG;
    f.tag[0] = rte_cpu_to_be_16(tpid);
    f.tag[1] = rte_cpu_to_be_16(h->tp_vlan_tci);
  }
  return f;
}

/* Copy `n` bytes of the frame, and the tag into them. */
static inline void copy(uint8_t *to, const struct received *f, uint32_t n)
{
  if (likely(f->tag_bytes == 0 || n < MAC_ADDRESSES)) {
    rte_memcpy(to, f->data, n);
    return;
  }
  memcpy(to, f->data, MAC_ADDRESSES);
  memcpy(to + MAC_ADDRESSES, f->tag, VLAN_TAG);
  memcpy(to + MAC_ADDRESSES + VLAN_TAG, f->data + MAC_ADDRESSES, n - MAC_ADDRESSES);
}

/* Compute the checksum that the kernel left to a card; false if it isn't in the frame.
 * SCTP's is a CRC32c; the place where it is tells, no other protocol has it there. */
static bool fill_checksum(struct rte_mbuf *m, const struct received *f)
{
  uint32_t start = f->offload.csum_start + f->tag_bytes;
  uint32_t at = start + f->offload.csum_offset;
  uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
  if (at + sizeof(uint16_t) > m->data_len)
    return false;
  if (f->offload.csum_offset == SCTP_CHECKSUM) {
    uint32_t crc = 0;
    if (at + sizeof crc > m->data_len)
      return false;
    memcpy(frame + at, &crc, sizeof crc);
    crc = rte_cpu_to_le_32(pg_crc32c(frame + start, m->data_len - start, 0));
    memcpy(frame + at, &crc, sizeof crc);
    return true;
  }
  uint16_t sum = pg_fold_not(pg_sum_bytes(frame + start, m->data_len - start));
  /* It may be UDP's; in TCP both are the same. */
  store16(frame + at, pg_sum_to_send(IPPROTO_UDP, sum));
  return true;
}

/* Receive into `parts` what waits in the socket's queue; how many bytes that were. An
 * error of the interface (it went down) is told before. */
static ssize_t read_waiting(int fd, struct iovec *parts, uint32_t n)
{
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = n};
  ssize_t bytes;
  do
    bytes = recvmsg(fd, &message, MSG_DONTWAIT | MSG_TRUNC);
  while (bytes < 0 && (errno == EINTR || errno == ENETDOWN));
  return bytes;
}

/* Drop the frame under a name: `count` is one of the port's. */
static void drop(struct port *port, struct packet_socket *s, const struct received *f,
                 uint64_t *count)
{
  struct iovec nowhere = {NULL, 0};
  if (f->waits)
    read_waiting(s->receive, &nowhere, 1);
  (*count)++;
  port->rxpackets++;
  port->account->received++;
  port->account->port_drops++;
}

static struct rte_mbuf *spare(struct port *port, struct packet_socket *s)
{
  if (unlikely(s->spares == 0)) {
    if (pg_take_packets(port->pool, s->spare, SPARE_PACKETS))
      s->spares = SPARE_PACKETS;
    else if (pg_take_packets(port->pool, s->spare, 1))
      s->spares = 1;
    else
      return NULL;
  }
  return s->spare[s->spares - 1];
}

static void take(struct packet_socket *s, struct rte_mbuf *m, uint32_t length)
{
  m->data_len = length;
  m->pkt_len = length;
  s->counts.ipackets++;
  s->counts.ibytes += length;
}

/* A frame longer than those of the ring: the rest of it, behind the bytes that are
 * there. */
static bool read_rest(struct packet_socket *s, const struct received *f,
                      struct rte_mbuf *m)
{
  struct virtio_net_hdr offload;
  uint8_t head[MAC_ADDRESSES], *to = rte_pktmbuf_mtod(m, uint8_t *);
  struct iovec parts[] = {{&offload, sizeof offload}, {head, sizeof head},
                          {to + MAC_ADDRESSES + f->tag_bytes, f->length - MAC_ADDRESSES}};
  ssize_t expected = sizeof offload + f->length;
  return read_waiting(s->receive, parts, 3) == expected;
}

/* One frame, one packet, in the next spare one; whether it was taken. */
static inline bool receive_one(struct port *port, struct packet_socket *s,
                               const struct received *f, struct rte_mbuf *m)
{
  uint32_t length = f->length + f->tag_bytes;
  if (unlikely(length > PACKET_MAX_PAYLOAD)) {
    drop(port, s, f, &port->rx_oversize);
    return false;
  }
  m->data_len = length;
  copy(rte_pktmbuf_mtod(m, uint8_t *), f, f->present);
  if (unlikely(f->present < f->length && !read_rest(s, f, m))) {
    s->counts.imissed++;
    return false;
  }
  if ((f->offload.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) && !fill_checksum(m, f)) {
    struct received here = *f;
    here.waits = false; /* any more */
    drop(port, s, &here, &port->rx_bad_offload);
    return false;
  }
  take(s, m, length);
  return true;
}

/* The payload of all segments, from the socket's queue. */
static bool read_segments(struct packet_socket *s, const struct received *f)
{
  const struct unsegmented *u = &s->unsegmented;
  struct virtio_net_hdr offload;
  uint8_t headers[MOST_HEADERS];
  struct iovec parts[MOST_SEGMENTS + 2] = {
    {&offload, sizeof offload}, {headers, u->layers.end - f->tag_bytes}};
  for (uint32_t i = 0; i < u->count; i++)
    parts[i + 2] = (struct iovec){
      rte_pktmbuf_mtod_offset(s->segments[i], uint8_t *, u->layers.end),
      pg_segment_payload(u, i)};
  ssize_t expected = sizeof offload + f->length;
  return read_waiting(s->receive, parts, u->count + 2) == expected;
}

/* The same from the ring. */
static void copy_segments(struct packet_socket *s, const struct received *f)
{
  const struct unsegmented *u = &s->unsegmented;
  const uint8_t *from = f->data + u->layers.end - f->tag_bytes;
  for (uint32_t i = 0; i < u->count; i++, from += u->size)
    rte_memcpy(rte_pktmbuf_mtod_offset(s->segments[i], uint8_t *, u->layers.end), from,
               pg_segment_payload(u, i));
}

/* Cut up a frame into s->segments, which are empty. */
static void segment(struct port *port, struct packet_socket *s, struct received *f)
{
  struct unsegmented *u = &s->unsegmented;
  uint32_t n = RTE_MIN(f->present, (uint32_t)MOST_HEADERS - VLAN_TAG);
  f->offload.csum_start += f->tag_bytes;
  copy(u->headers, f, n);
  if (!pg_unsegmented(u, n + f->tag_bytes, f->length + f->tag_bytes, &f->offload)) {
    drop(port, s, f, &port->rx_bad_offload);
    return;
  }
  if (u->layers.end + RTE_MIN(u->size, u->payload) > PACKET_MAX_PAYLOAD) {
    drop(port, s, f, &port->rx_oversize);
    return;
  }
  if (!pg_take_packets(port->pool, s->segments, u->count)) {
    drop(port, s, f, &port->rx_nomem);
    return;
  }
  if (f->present == f->length) {
    copy_segments(s, f);
  } else if (!read_segments(s, f)) {
    rte_pktmbuf_free_bulk(s->segments, u->count);
    s->counts.imissed++;
    return;
  }
  for (uint32_t i = 0; i < u->count; i++) {
    pg_segment_headers(u, i, rte_pktmbuf_mtod(s->segments[i], uint8_t *));
    take(s, s->segments[i], u->layers.end + pg_segment_payload(u, i));
  }
  s->first_segment = 0;
  s->end_segment = u->count;
}

static uint16_t take_segments(struct packet_socket *s, struct rte_mbuf **packets,
                              uint16_t n)
{
  n = RTE_MIN(n, s->end_segment - s->first_segment);
  memcpy(packets, s->segments + s->first_segment, n * sizeof *packets);
  s->first_segment += n;
  return n;
}

uint16_t pg_packet_receive(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  struct packet_socket *s = port->state;
  struct packet_ring *r = &s->ring;
  uint16_t got = take_segments(s, packets, n);
  while (got < n && is_filled(next_frame(r))) {
    rte_prefetch0(r->frame + r->frame_bytes);
    rte_prefetch0(r->frame + r->frame_bytes + RTE_CACHE_LINE_SIZE);
    struct received f = look(r);
    struct rte_mbuf *m = spare(port, s);
    if (unlikely(!m))
      break; /* it waits in the ring */
    if (unlikely(f.present < f.length && !f.waits) || f.length < MAC_ADDRESSES) {
      s->counts.imissed++; /* cut off, as the socket's queue was full */
    } else if (likely(f.offload.gso_type == VIRTIO_NET_HDR_GSO_NONE)) {
      if (receive_one(port, s, &f, m)) {
        packets[got++] = m;
        s->spares--;
      }
    } else {
      segment(port, s, &f);
      got += take_segments(s, packets + got, n - got);
    }
    give_back(r);
  }
  return got;
}
