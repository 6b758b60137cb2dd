/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets cut into fragments: IPv4 (RFC 791, section 3.2), IPv6 (RFC 8200, section 4.5).
 */
#include <string.h>

#include "../../native/api.h"
#include "../ip/ip4_write.h"
#include "../wire/ip4_options.h"
#include "fragment.h"

enum { TTL = 8, UNIT = 8, REFILL = 64, OPTIONS_MOST = 40 };
enum { IP6_FRAGMENT = 44, IP6_FRAGMENT_HEADER = 8, IP6_MORE = 1 };

/* The options that each fragment must have (RFC 791, section 3.1), to `copy`; how many
 * bytes they are, filled up to words. */
static uint32_t copied_options(const uint8_t *header, uint8_t *copy)
{
  const uint8_t *end = header + (header[0] & 15) * 4;
  uint32_t total = 0, n = 0;
  for (const uint8_t *o = header + IP4_HEADER; (o = option_from(o, end, &n)); o += n)
    if (*o & OPTION_COPIED) {
      memcpy(copy + total, o, n);
      total += n;
    }
  for (; total % 4 != 0; total++)
    copy[total] = OPTION_END;
  return total;
}

/* The first 20 bytes of a header as at `old`, written at `out` with another length
 * (`header` bytes of it, `total` in all) and flags, and the checksum of it all. */
static void write_header(uint8_t *out, const uint8_t *old, uint32_t header,
                         uint32_t total, uint16_t flags)
{
  uint32_t version = old[0] & 0xf0, tos = old[1], addresses[2];
  memcpy(addresses, old + IP4_ADDRESSES, sizeof addresses);
  ip4_write(out, header, version << 24 | tos << 16 | total,
            get16(old + IP4_ID) << 16 | flags, get16(old + TTL), addresses[0],
            addresses[1]);
}

static struct packet *take(struct freelist *list)
{
  if (list->nfree == 0 && pg_freelist_refill(list, REFILL) == 0)
    return NULL;
  return list->list[--list->nfree];
}

static void give_back(struct freelist *list, struct packet **packets, int32_t n)
{
  for (int32_t i = 0; i < n; i++) {
    packets[i]->data_off = PACKET_HEADROOM;
    packets[i]->length = 0;
    if (list->nfree == list->max)
      pg_freelist_spill(list, REFILL);
    list->list[list->nfree++] = packets[i];
  }
}

/* The bytes of another fragment, the n-th of `rest`, of that length; NULL if there is no
 * packet: then those before it have gone back. */
static uint8_t *another(struct freelist *list, struct packet **rest, int32_t n,
                        uint32_t headroom, uint32_t length)
{
  struct packet *q = n < FRAGMENTS_MAX ? take(list) : NULL;
  if (!q) {
    give_back(list, rest, n);
    return NULL;
  }
  rest[n] = q;
  q->data_off = headroom;
  q->length = length;
  return q->buf_addr + headroom;
}

/* Cut the packet at its IPv4 header, `at` bytes behind p->buf_addr, which must be whole,
 * sound and longer than the MTU, into fragments of at most `mtu` bytes, of which 8 are
 * payload at least. `p` becomes the first; the others go to `rest`, with `headroom` bytes
 * before them, then the `link` bytes that are before the header in `p`. The last fragment
 * is filled up to the MTU, or, if `units`, has at most as much payload as those before
 * it. Returns how many `rest` has, or FRAGMENT_NO_PACKETS: then nothing has changed. */
int32_t pg_ip4_cut(struct freelist *list, struct packet *p, uint32_t at, uint32_t link,
                   uint32_t mtu, bool units, uint32_t headroom, struct packet **rest)
{
  uint8_t *ip = p->buf_addr + at, options[OPTIONS_MOST];
  uint32_t header = (ip[0] & 15) * 4, available = p->data_off + p->length - at - header;
  uint32_t payload = get16(ip + IP4_LENGTH) - header;
  if (payload > available)
    payload = available;
  uint16_t flags = get16(ip + IP4_FRAGMENT);
  uint32_t first = (mtu - header) / UNIT * UNIT;
  uint32_t other_header = IP4_HEADER + copied_options(ip, options);
  uint32_t most = (mtu - other_header) / UNIT * UNIT;
  uint32_t last_most = units ? most : mtu - other_header;
  int32_t n = 0;
  for (uint32_t done = first, size; done < payload; done += size, n++) {
    bool last = payload - done <= last_most;
    size = last ? payload - done : most;
    uint8_t *out = another(list, rest, n, headroom, link + other_header + size);
    if (!out)
      return FRAGMENT_NO_PACKETS;
    memcpy(out, ip - link, link);
    out += link;
    memcpy(out + IP4_HEADER, options, other_header - IP4_HEADER);
    memcpy(out + other_header, ip + header + done, size);
    write_header(out, ip, other_header, other_header + size,
                 (last ? flags : flags | IP4_MORE) + done / UNIT);
  }
  p->length = at + header + first - p->data_off;
  write_header(ip, ip, header, header + first, flags | IP4_MORE);
  return n;
}

/* The IPv6 header at `old` with the `link` bytes before it, at `out`, then a fragment
 * header; `size` bytes of payload follow, which belong at `first`. */
static void write_headers6(uint8_t *out, const uint8_t *old, uint32_t link, uint32_t size,
                           uint32_t first, uint32_t more, uint32_t id)
{
  memmove(out, old - link, link + IP6_HEADER);
  uint8_t *ip = out + link, *fragment = ip + IP6_HEADER;
  fragment[0] = ip[IP6_NEXT];
  fragment[1] = 0;
  put16(fragment + 2, first | more);
  put32(fragment + 4, id);
  put16(ip + IP6_LENGTH, IP6_FRAGMENT_HEADER + size);
  ip[IP6_NEXT] = IP6_FRAGMENT;
}

/* As pg_ip4_cut, at its IPv6 header, which `link` bytes of the packet are before. The
 * packet must be longer than the MTU (1280 at least) and have nothing behind its payload.
 * The fragment header follows IPv6's. */
int32_t pg_ip6_cut(struct freelist *list, struct packet *p, uint32_t link, uint32_t mtu,
                   int32_t id, uint32_t headroom, struct packet **rest)
{
  uint8_t *start = p->buf_addr + p->data_off, *ip = start + link;
  uint32_t headers = link + IP6_HEADER, payload = p->length - headers;
  uint32_t most = mtu - IP6_HEADER - IP6_FRAGMENT_HEADER, first = most / UNIT * UNIT;
  int32_t n = 0;
  for (uint32_t done = first, size; done < payload; done += size, n++) {
    bool last = payload - done <= most;
    size = last ? payload - done : first;
    uint8_t *out = another(list, rest, n, headroom, headers + IP6_FRAGMENT_HEADER + size);
    if (!out)
      return FRAGMENT_NO_PACKETS;
    write_headers6(out, ip, link, size, done, last ? 0 : IP6_MORE, (uint32_t)id);
    memcpy(out + headers + IP6_FRAGMENT_HEADER, ip + IP6_HEADER + done, size);
  }
  p->length = headers + IP6_FRAGMENT_HEADER + first;
  if (p->data_off >= IP6_FRAGMENT_HEADER) {
    p->data_off -= IP6_FRAGMENT_HEADER;
    start -= IP6_FRAGMENT_HEADER;
  } else {
    memmove(start + headers + IP6_FRAGMENT_HEADER, start + headers, first);
  }
  write_headers6(start, ip, link, first, 0, IP6_MORE, (uint32_t)id);
  return n;
}
