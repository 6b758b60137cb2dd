/* SPDX-License-Identifier: Apache-2.0
 *
 * TCP segments in packets (RFC 9293, section 3.1): found within bounds, cut, and written
 * with other numbers.
 */
#include <netinet/in.h>
#include <string.h>

#include "../../native/api.h"
#include "../checksum/checksum.h"
#include "../wire/tcp_options.h"
#include "../wire/wire.h"
#include "stream.h"

enum { IP4_TTL = 8, TCP_WINDOW = 14 };

static uint32_t mss_of(const uint8_t *tcp, const uint8_t *end)
{
  uint32_t n = 0;
  for (const uint8_t *o = tcp + TCP_HEADER; (o = option_from(o, end, &n)); o += n)
    if (*o == TCP_MSS && n == TCP_MSS_BYTES)
      return get16(o + 2);
  return 0;
}

/* Look for a segment behind the IPv4 header at offset `ip`. False: there is none, it
 * isn't whole, or a fragment. */
bool pg_stream_look(const struct packet *p, uint32_t ip, struct stream_segment *s)
{
  uint32_t length = p->length;
  const uint8_t *h = p->buf_addr + p->data_off + ip;
  if (ip + IP4_HEADER + TCP_HEADER > length || h[0] >> 4 != 4 ||
      h[IP4_PROTOCOL] != IPPROTO_TCP || get16(h + IP4_FRAGMENT) & IP4_PART)
    return false;
  uint32_t header = (h[0] & 15) * 4, total = get16(h + IP4_LENGTH);
  if (header < IP4_HEADER || header + TCP_HEADER > total || ip + header + TCP_HEADER > length)
    return false;
  uint8_t *tcp = p->buf_addr + p->data_off + ip + header;
  uint32_t offset = (tcp[TCP_OFFSET] >> 4) * 4;
  if (offset < TCP_HEADER || header + offset > total || ip + header + offset > length)
    return false;
  *s = (struct stream_segment){
    .seq = get32(tcp + TCP_SEQUENCE), .ack = get32(tcp + TCP_ACK),
    .window = get16(tcp + TCP_WINDOW), .ip = (uint16_t)ip,
    .tcp = (uint16_t)(ip + header), .payload = (uint16_t)(ip + header + offset),
    .length = (uint16_t)(total - header - offset),
    .now = (uint16_t)(length - ip - header - offset), .flags = tcp[TCP_FLAGS]};
  if (s->flags & TCP_SYN)
    s->mss = (uint16_t)mss_of(tcp, tcp + offset);
  return true;
}

static uint8_t *at(const struct packet *p, uint32_t offset)
{
  return p->buf_addr + p->data_off + offset;
}

/* Is all of it there, and are both checksums right? What a device has looked at, or will
 * fill in, isn't looked at. */
bool pg_stream_sound(const struct packet *p, const struct stream_segment *s)
{
  if (s->now < s->length)
    return false;
  if (p->ol_flags)
    return true;
  return pg_checksum_word(at(p, s->ip), s->tcp - s->ip) == 0 &&
         pg_ip4_l4_checksum(at(p, s->ip), at(p, s->tcp),
                            (uint32_t)(s->payload - s->tcp + s->length)) == 0;
}

/* Overwrite the option that permits selective acknowledgements (RFC 2018). Was it
 * there? */
bool pg_stream_refuse_sack(struct packet *p, const struct stream_segment *s)
{
  uint32_t n = 0;
  uint8_t *tcp = at(p, s->tcp), *end = at(p, s->payload);
  for (const uint8_t *o = tcp + TCP_HEADER; (o = option_from(o, end, &n)); o += n)
    if (*o == TCP_SACK_PERMITTED && n == TCP_SACK_PERMITTED_BYTES) {
      memset(tcp + (o - tcp), OPTION_NOTHING, n);
      return true;
    }
  return false;
}

/* Write its numbers, the length that it has, and checksums. */
void pg_stream_write(struct packet *p, const struct stream_segment *s, uint32_t seq,
                  uint32_t ack)
{
  uint8_t *ip = at(p, s->ip), *tcp = at(p, s->tcp);
  put16(ip + IP4_LENGTH, (uint32_t)p->length - s->ip);
  store16(ip + IP4_CHECKSUM, 0);
  store16(ip + IP4_CHECKSUM, (uint16_t)pg_checksum_word(ip, s->tcp - s->ip));
  put32(tcp + TCP_SEQUENCE, seq);
  if (s->flags & TCP_ACK_FLAG)
    put32(tcp + TCP_ACK, ack);
  pg_ip4_l4_set(ip, tcp, (uint32_t)p->length - s->tcp, IPPROTO_TCP);
  p->ol_flags = 0;
}

/* Take what is behind the first `n` bytes of the payload off. */
void pg_stream_trim(struct packet *p, const struct stream_segment *s, uint32_t n)
{
  p->length = (uint16_t)(s->payload + n);
  pg_stream_write(p, s, get32(at(p, s->tcp + TCP_SEQUENCE)),
                  get32(at(p, s->tcp + TCP_ACK)));
}

/* Leave `n` bytes of the payload, from the one with the number s->seq + first on. */
void pg_stream_cut(struct packet *p, const struct stream_segment *s, uint32_t first,
                   uint32_t n)
{
  memmove(at(p, s->payload), at(p, s->payload + first), n);
  put32(at(p, s->tcp + TCP_SEQUENCE), s->seq + first);
  pg_stream_trim(p, s, n);
}
