/* SPDX-License-Identifier: Apache-2.0
 *
 * A segment's bytes: Ethernet, IP, TCP, its options and data.
 */
#include <string.h>

#include "../../native/api.h"
#include "../checksum/sum.h"
#include "../wire/tcp_options.h"
#include "internal.h"

enum { HOPS = 64, FILLER = 64 };

/* What fills messages: by its place in the message, so that a receiver can check it. */
static const uint8_t filler[FILLER + 1] =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+\n";

static bool room(struct tcp_endpoint *e)
{
  if (e->outs >= e->out_room)
    return false;
  if (e->spares > 0)
    return true;
  e->counts.no_buffer++;
  return false;
}

/* Ethernet's header; the bytes of it. */
static uint32_t write_ethernet(const struct tcp_endpoint *e, uint8_t *at,
                               const uint8_t *to, uint32_t family)
{
  uint32_t type = family == 4 ? TYPE_IP4 : TYPE_IP6, n = MAC_ADDRESSES;
  memcpy(at, to, 6);
  memcpy(at + 6, e->mac, 6);
  if (e->vlan) {
    put16(at + n, TYPE_8021Q);
    put16(at + n + 2, e->vlan);
    n += VLAN_TAG;
  }
  put16(at + n, type);
  return n + 2;
}

/* IP's header for so many bytes behind it; the bytes of it. */
static uint32_t write_ip(struct tcp_endpoint *e, uint8_t *at, const struct tcp_key *key,
                         uint32_t length)
{
  if (key->family == 4) {
    memset(at, 0, IP4_HEADER);
    at[0] = 0x45;
    put16(at + IP4_LENGTH, IP4_HEADER + length);
    put16(at + IP4_ID, e->ip_id++);
    put16(at + IP4_FRAGMENT, IP4_DONT_FRAGMENT);
    at[8] = HOPS;
    at[IP4_PROTOCOL] = key->protocol;
    memcpy(at + IP4_ADDRESSES, key->local, 4);
    memcpy(at + IP4_ADDRESSES + 4, key->remote, 4);
    store16(at + IP4_CHECKSUM, pg_fold_not(pg_sum_words(at, IP4_HEADER)));
    return IP4_HEADER;
  }
  put32(at, 0x60000000);
  put16(at + IP6_LENGTH, length);
  at[IP6_NEXT] = key->protocol;
  at[7] = HOPS;
  memcpy(at + IP6_ADDRESSES, key->local, 16);
  memcpy(at + IP6_ADDRESSES + 16, key->remote, 16);
  return IP6_HEADER;
}

/* Bytes `from` on of the message. */
static void write_message(const struct tcp_message *m, uint32_t from, uint8_t *at,
                          uint32_t n)
{
  if (from < m->head_length) {
    uint32_t some = least(n, m->head_length - from);
    memcpy(at, m->head + from, some);
    at += some;
    n -= some;
    from += some;
  }
  for (uint32_t place = (from - m->head_length) % FILLER; n > 0; place = 0) {
    uint32_t some = least(n, FILLER - place);
    memcpy(at, filler + place, some);
    at += some;
    n -= some;
  }
}

static uint32_t write_syn_options(const struct tcp_endpoint *e,
                                  const struct tcp_connection *c, uint8_t *at)
{
  uint32_t n = 4, shift = 0;
  at[0] = TCP_MSS;
  at[1] = TCP_MSS_BYTES;
  put16(at + 2, e->mtu - TCP_HEADER - (c->key.family == 4 ? IP4_HEADER : IP6_HEADER));
  if (c->state == TCPS_SYN_SENT || (c->flags & C_SACK)) {
    at[n] = at[n + 1] = OPTION_NOTHING;
    at[n + 2] = TCP_SACK_PERMITTED;
    at[n + 3] = TCP_SACK_PERMITTED_BYTES;
    n += 4;
  }
  if (c->state == TCPS_SYN_SENT || (c->flags & C_SHIFTS)) {
    while ((e->window >> shift) > UINT16_MAX)
      shift++;
    at[n] = OPTION_NOTHING;
    at[n + 1] = TCP_WINDOW_SCALE;
    at[n + 2] = TCP_WINDOW_SCALE_BYTES;
    at[n + 3] = (uint8_t)shift;
    n += 4;
  }
  return n;
}

/* Blocks that were received out of order (RFC 2018). */
static uint32_t write_sack(const struct tcp_connection *c, uint8_t *at)
{
  uint32_t n = 4;
  if (!(c->flags & C_SACK))
    return 0;
  for (int i = 0; i < TCP_RANGES; i++)
    if (c->range[i].from != c->range[i].to) {
      put32(at + n, c->range[i].from);
      put32(at + n + 4, c->range[i].to);
      n += 8;
    }
  if (n == 4)
    return 0;
  at[0] = at[1] = OPTION_NOTHING;
  at[2] = TCP_SACK;
  at[3] = (uint8_t)(n - 2);
  return n;
}

static uint32_t offered(const struct tcp_endpoint *e, const struct tcp_connection *c,
                        bool syn)
{
  uint32_t window = e->window;
  if (!syn && (c->flags & C_SHIFTS)) {
    uint32_t shift = 0;
    while ((e->window >> shift) > UINT16_MAX)
      shift++;
    window >>= shift;
  }
  return least(window, UINT16_MAX);
}

static void finish(struct tcp_endpoint *e, struct packet *p, uint8_t *l4, uint32_t n,
                   const struct tcp_key *key)
{
  uint32_t addresses = key->family == 4 ? 4 : 16;
  uint64_t sum = pg_sum_words(key->local, addresses) +
                 pg_sum_words(key->remote, addresses) +
                 rte_cpu_to_be_16(key->protocol) + pg_from_host(n);
  sum += n < 2 * FEW_BYTES ? pg_sum_words(l4, n) : pg_sum_bytes(l4, n);
  store16(l4 + pg_checksum_at(key->protocol),
          pg_sum_to_send(key->protocol, pg_fold_not(sum)));
  e->outgoing[e->outs++] = p;
  e->counts.packets_sent++;
}

static uint8_t *start_of(struct packet *p) { return p->buf_addr + p->data_off; }

/* A segment with `n` bytes of the message from `seq` on. False: no room. */
bool tcp_emit(struct tcp_endpoint *e, struct tcp_connection *c, uint32_t seq,
              uint32_t n, uint32_t flags)
{
  if (!room(e))
    return false;
  struct packet *p = e->spare[--e->spares];
  uint8_t options[40], *frame = start_of(p);
  uint32_t more = flags & TCP_SYN ? write_syn_options(e, c, options)
                                   : n == 0 ? write_sack(c, options) : 0;
  uint32_t length = TCP_HEADER + more + n;
  uint32_t at = write_ethernet(e, frame, c->mac, c->key.family);
  at += write_ip(e, frame + at, &c->key, length);
  uint8_t *tcp = frame + at;
  memset(tcp, 0, TCP_HEADER);
  store16(tcp, c->key.local_port);
  store16(tcp + 2, c->key.remote_port);
  put32(tcp + TCP_SEQUENCE, seq);
  if (flags & TCP_ACK_FLAG)
    put32(tcp + TCP_ACK, c->expected);
  tcp[TCP_OFFSET] = (uint8_t)((TCP_HEADER + more) / 4 << 4);
  tcp[TCP_FLAGS] = (uint8_t)flags;
  put16(tcp + 14, offered(e, c, flags & TCP_SYN));
  memcpy(tcp + TCP_HEADER, options, more);
  if (n > 0)
    write_message(&e->out, seq - c->out_from, tcp + TCP_HEADER + more, n);
  p->length = (uint16_t)(at + length);
  finish(e, p, tcp, length, &c->key);
  return true;
}

/* The message, which fits, as a datagram. False: there is no room. */
bool tcp_emit_datagram(struct tcp_endpoint *e, const struct tcp_key *key,
                       const uint8_t *mac)
{
  if (!room(e))
    return false;
  struct packet *p = e->spare[--e->spares];
  uint32_t length = UDP_HEADER + e->out.length;
  uint8_t *frame = start_of(p);
  uint32_t at = write_ethernet(e, frame, mac, key->family);
  at += write_ip(e, frame + at, key, length);
  uint8_t *udp = frame + at;
  store16(udp, key->local_port);
  store16(udp + 2, key->remote_port);
  put16(udp + UDP_LENGTH, length);
  put16(udp + UDP_CHECKSUM, 0);
  write_message(&e->out, 0, udp + UDP_HEADER, e->out.length);
  p->length = (uint16_t)(at + length);
  finish(e, p, udp, length, key);
  return true;
}

/* Answer a segment that belongs to nothing (RFC 9293, section 3.10.7.1). */
bool tcp_send_reset(struct tcp_endpoint *e, const struct segment *s)
{
  struct tcp_connection c = {.key = s->key};
  bool acks = s->flags & TCP_ACK_FLAG;
  memcpy(c.mac, s->source_mac, sizeof c.mac);
  c.expected = s->seq + s->length + ((s->flags & TCP_SYN) != 0) +
               ((s->flags & TCP_FIN) != 0);
  if (!tcp_emit(e, &c, acks ? s->ack : 0, 0, acks ? TCP_RST : TCP_RST | TCP_ACK_FLAG))
    return false;
  e->counts.resets_sent++;
  return true;
}
