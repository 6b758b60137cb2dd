/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv4 packets cut into fragments (RFC 791, section 3.2).
 */
#include <string.h>

#include "../../native/api.h"
#include "../ip/ip4_write.h"
#include "../wire/ip4_options.h"
#include "fragment.h"

enum { TTL = 8, UNIT = 8, MORE = 0x2000, REFILL = 64, OPTIONS_MOST = 40 };

/* The options that each fragment must have (RFC 791, section 3.1), to `copy`; how many
 * bytes they are, filled up to words. */
static uint32_t copied_options(const uint8_t *header, uint8_t *copy)
{
  const uint8_t *end = header + (header[0] & 15) * 4;
  uint32_t total = 0;
  for (const uint8_t *o = header + IP4_HEADER; o < end && *o != OPTION_END;) {
    if (*o == OPTION_NOTHING) {
      o++;
      continue;
    }
    uint32_t n = option_length(o, end);
    if (n == 0)
      break;
    if (*o & OPTION_COPIED) {
      memcpy(copy + total, o, n);
      total += n;
    }
    o += n;
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
    struct packet *q = n < FRAGMENTS_MAX ? take(list) : NULL;
    if (!q) {
      give_back(list, rest, n);
      return FRAGMENT_NO_PACKETS;
    }
    rest[n] = q;
    bool last = payload - done <= last_most;
    size = last ? payload - done : most;
    q->data_off = headroom;
    q->length = link + other_header + size;
    uint8_t *out = q->buf_addr + headroom + link;
    memcpy(out - link, ip - link, link);
    memcpy(out + IP4_HEADER, options, other_header - IP4_HEADER);
    memcpy(out + other_header, ip + header + done, size);
    write_header(out, ip, other_header, other_header + size,
                 (last ? flags : flags | MORE) + done / UNIT);
  }
  p->length = at + header + first - p->data_off;
  write_header(ip, ip, header, header + first, flags | MORE);
  return n;
}
