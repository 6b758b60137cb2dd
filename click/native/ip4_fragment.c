/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv4 packets cut into fragments (RFC 791, section 3.2).
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../../src/native/api.h"
#include "ip.h"
#include "../../src/net/ip/ip4_write.h"

enum { TTL = 8 };
enum { UNIT = 8, MORE = 0x2000 };
enum { REFILL = 64 };

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

/* Cut the packet at its network header, which must be whole and longer than the MTU,
 * into fragments of at most `mtu` bytes, of which 8 are payload at least. `p` becomes
 * the first; the others go to `rest`, with `headroom` bytes before them. Returns how
 * many those are, or FRAGMENT_NO_PACKETS: then nothing has changed. */
int32_t pg_ip4_fragment(struct freelist *list, struct packet *p, uint32_t mtu,
                        uint32_t headroom, struct packet **rest)
{
  uint32_t at = p->note16[NOTE16_NETWORK];
  uint8_t *ip = p->buf_addr + at, options[40];
  uint32_t header = (ip[0] & 15) * 4, available = p->data_off + p->length - at - header;
  uint32_t payload = get16(ip + IP4_LENGTH) - header;
  if (payload > available)
    payload = available;
  uint16_t flags = get16(ip + IP4_FRAGMENT);
  uint32_t first = (mtu - header) / UNIT * UNIT;
  uint32_t other_header = IP4_HEADER + pg_ip4_fragment_options(ip, options);
  uint32_t most = (mtu - other_header) / UNIT * UNIT;
  int32_t n = 0;
  for (uint32_t done = first; done < payload; done += most, n++) {
    struct packet *q = n < FRAGMENTS_MAX ? take(list) : NULL;
    if (!q) {
      give_back(list, rest, n);
      return FRAGMENT_NO_PACKETS;
    }
    rest[n] = q;
    uint32_t size = payload - done < most ? payload - done : most;
    bool last = done + size == payload;
    q->data_off = headroom;
    q->length = other_header + size;
    uint8_t *out = q->buf_addr + headroom;
    memcpy(out + IP4_HEADER, options, other_header - IP4_HEADER);
    memcpy(out + other_header, ip + header + done, size);
    write_header(out, ip, other_header, q->length,
                 (last ? flags : flags | MORE) + done / UNIT);
    memcpy(q->note8, p->note8, sizeof q->note8);
    q->note16[NOTE16_MAC] = 0;
    q->note16[NOTE16_NETWORK] = headroom;
    q->note16[NOTE16_TRANSPORT] = headroom + other_header;
  }
  p->length = at + header + first - p->data_off;
  write_header(ip, ip, header, header + first, flags | MORE);
  return n;
}
