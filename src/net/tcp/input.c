/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments that arrive (RFC 9293, section 3.10.7), a burst at a time: all are looked up
 * before the first is looked at.
 */
#include <string.h>

#include "../../native/api.h"
#include "internal.h"

enum { FIRST_SEGMENTS = 10 }; /* RFC 6928 */

/* Send an acknowledgement, whatever else is sent: each of these counts for the peer. */
static void acknowledge(struct tcp_endpoint *e, struct tcp_connection *c)
{
  if (c->acks_owed < UINT8_MAX)
    c->acks_owed++;
  tcp_make_ready(e, c);
}

static void acknowledge_once(struct tcp_endpoint *e, struct tcp_connection *c)
{
  if (c->acks_owed == 0)
    c->acks_owed = 1;
  tcp_make_ready(e, c);
}

/* What a SYN says of its sender. */
static void take_syn(struct tcp_endpoint *e, struct tcp_connection *c,
                     const struct segment *s)
{
  bool four = c->key.family == 4;
  uint32_t most = e->mtu - TCP_HEADER - (four ? IP4_HEADER : IP6_HEADER);
  uint32_t said = s->mss ? s->mss : four ? 536 : 1220; /* RFC 9293, section 3.7.1 */
  c->expected = s->seq + 1;
  c->mss = (uint16_t)least(most, greatest(said, 64));
  c->window = s->window;
  c->window_seq = s->seq;
  c->window_ack = s->ack;
  c->congestion = FIRST_SEGMENTS * c->mss;
  c->threshold = UINT32_MAX;
  if (s->sack_permitted)
    c->flags |= C_SACK;
  if (s->shift >= 0) {
    c->flags |= C_SHIFTS;
    c->window_shift = (uint8_t)s->shift;
  }
}

/* Does the server listen there? */
bool tcp_listens(const struct tcp_endpoint *e, const struct segment *s)
{
  uint32_t port = rte_be_to_cpu_16(s->key.local_port) - e->server_ports.first;
  return e->server && !e->held && port < e->server_ports.count;
}

/* A segment for no connection. */
static void nobody(struct tcp_endpoint *e, const struct segment *s)
{
  bool opens = (s->flags & (TCP_SYN | TCP_ACK_FLAG | TCP_RST | TCP_FIN)) == TCP_SYN;
  if (!opens || !tcp_listens(e, s)) {
    if (!(s->flags & TCP_RST))
      tcp_send_reset(e, s);
    return;
  }
  struct tcp_connection *c =
    e->counts.open < e->limit ? tcp_new_connection(e, &s->key, TCPS_SYN_RECEIVED) : NULL;
  if (!c) {
    e->counts.no_room++;
    return;
  }
  memcpy(c->mac, s->source_mac, sizeof c->mac);
  take_syn(e, c, s);
  c->flags |= C_SYN_OWED;
  tcp_make_ready(e, c);
}

static void syn_sent(struct tcp_endpoint *e, struct tcp_connection *c,
                     const struct segment *s)
{
  bool acks = s->flags & TCP_ACK_FLAG;
  if (acks && s->ack != c->most) {
    if (!(s->flags & TCP_RST))
      tcp_send_reset(e, s);
    return;
  }
  if (s->flags & TCP_RST) {
    if (acks)
      tcp_end(e, c, &e->counts.refused);
    return;
  }
  if (!(s->flags & TCP_SYN))
    return;
  take_syn(e, c, s);
  if (!acks) { /* both open (RFC 9293, section 3.5) */
    c->state = TCPS_SYN_RECEIVED;
    c->flags |= C_SYN_OWED;
    tcp_make_ready(e, c);
    return;
  }
  add_sample(&e->connect, 1e3 * (now_us(e) - c->asked_at));
  if (c->timed_at)
    tcp_measure(c, now_us(e) - c->timed_at, e->least_rto);
  else if (e->least_rto < FIRST_RTO)
    c->rto = FIRST_RTO;
  c->timed_at = 0;
  c->una = s->ack;
  c->retries = 0;
  c->resend_at = 0;
  c->flags &= ~C_SYN_OWED;
  c->state = TCPS_ESTABLISHED;
  acknowledge_once(e, c);
  tcp_established(e, c);
}

/* Does the window have a part of the segment (RFC 9293, section 3.10.7.4)? */
static bool is_acceptable(const struct tcp_endpoint *e, const struct tcp_connection *c,
                          const struct segment *s)
{
  uint32_t length = s->length + ((s->flags & TCP_SYN) != 0) + ((s->flags & TCP_FIN) != 0);
  uint32_t first = s->seq - c->expected, last = first + length - 1;
  return first < e->window || (length > 0 && last < e->window);
}

static void take_reset(struct tcp_endpoint *e, struct tcp_connection *c,
                       const struct segment *s)
{
  if (s->seq != c->expected) { /* RFC 5961, section 3.2 */
    acknowledge_once(e, c);
    return;
  }
  bool done = c->state == TCPS_CLOSING || c->state == TCPS_LAST_ACK;
  tcp_end(e, c, done ? &e->counts.closed : &e->counts.reset);
}

/* The segment's data. True: it came to the segment's end. */
static bool take_data(struct tcp_endpoint *e, struct tcp_connection *c,
                      const struct segment *s)
{
  if (s->length == 0)
    return s->seq == c->expected;
  if (seq_before(c->expected, s->seq)) {
    e->counts.out_of_order++;
    tcp_keep_early(c, s->seq, s->seq + s->length);
    acknowledge(e, c);
    return false;
  }
  uint32_t known = c->expected - s->seq;
  if (known >= s->length) {
    e->counts.duplicates++;
    acknowledge(e, c);
    return known == s->length;
  }
  uint32_t n = s->length - known, rest;
  rest = n > e->window ? n - e->window : 0;
  if (tcp_has_early(c))
    acknowledge(e, c);
  else
    acknowledge_once(e, c);
  tcp_take(e, c, s->data + known, n - rest);
  return rest == 0;
}

static void take_fin(struct tcp_endpoint *e, struct tcp_connection *c)
{
  c->expected++;
  c->flags |= C_PEER_DONE;
  memset(c->range, 0, sizeof c->range);
  acknowledge_once(e, c);
  switch (c->state) {
  case TCPS_ESTABLISHED:
    c->state = TCPS_CLOSE_WAIT;
    tcp_peer_done(e, c);
    break;
  case TCPS_FIN_WAIT_1:
    c->state = TCPS_CLOSING;
    break;
  case TCPS_FIN_WAIT_2:
    tcp_time_wait(e, c);
    break;
  }
}

/* Our FIN has arrived. False: that was the end. */
static bool fin_acknowledged(struct tcp_endpoint *e, struct tcp_connection *c)
{
  if (c->state == TCPS_FIN_WAIT_1) {
    c->state = TCPS_FIN_WAIT_2;
  } else if (c->state == TCPS_CLOSING) {
    tcp_time_wait(e, c);
  } else if (c->state == TCPS_LAST_ACK) {
    tcp_end(e, c, &e->counts.closed);
    return false;
  }
  return true;
}

/* The acknowledgement of a segment that is acceptable. False: it goes no further. */
static bool take_ack(struct tcp_endpoint *e, struct tcp_connection *c,
                     const struct segment *s)
{
  if (c->state == TCPS_SYN_RECEIVED) {
    if (s->ack != c->most) {
      tcp_send_reset(e, s);
      return false;
    }
    c->state = TCPS_ESTABLISHED;
    c->flags &= ~C_SYN_OWED;
    tcp_established(e, c);
  }
  if (seq_before(c->most, s->ack)) {
    acknowledge_once(e, c);
    return false;
  }
  tcp_acknowledge(e, c, s);
  bool fin_sent = c->state >= TCPS_FIN_WAIT_1 && c->state != TCPS_CLOSE_WAIT;
  return !fin_sent || c->una != c->out_to + 1 || fin_acknowledged(e, c);
}

static void synchronized(struct tcp_endpoint *e, struct tcp_connection *c,
                         const struct segment *s)
{
  if (!is_acceptable(e, c, s)) {
    if (s->flags & TCP_RST)
      return;
    if (c->state == TCPS_SYN_RECEIVED && (s->flags & TCP_SYN)) {
      c->flags |= C_SYN_OWED; /* our answer was lost */
      tcp_make_ready(e, c);
      return;
    }
    if (s->length > 0)
      e->counts.duplicates++;
    if (c->state == TCPS_TIME_WAIT)
      tcp_time_wait(e, c);
    acknowledge(e, c);
    return;
  }
  if (s->flags & TCP_RST) {
    take_reset(e, c, s);
  } else if (s->flags & TCP_SYN) {
    acknowledge_once(e, c); /* RFC 5961, section 4.2 */
  } else if ((s->flags & TCP_ACK_FLAG) && take_ack(e, c, s) &&
             c->state < TCPS_CLOSING && c->state != TCPS_CLOSE_WAIT) {
    bool whole = take_data(e, c, s);
    if (whole && (s->flags & TCP_FIN) && c->state != TCPS_CLOSED)
      take_fin(e, c);
  }
}

/* Is it the first of another connection, though the last isn't forgotten (RFC 9293,
 * section 3.6.1)? */
static bool begins_anew(const struct tcp_endpoint *e, const struct tcp_connection *c,
                        const struct segment *s)
{
  return e->server && c->state == TCPS_TIME_WAIT && (s->flags & TCP_SYN) &&
         !(s->flags & TCP_ACK_FLAG) && seq_before(c->expected, s->seq) &&
         !(c->flags & C_READY);
}

static void tcp_segment(struct tcp_endpoint *e, const struct segment *s, uint32_t number)
{
  struct tcp_connection *c = number ? connection_of(e, number) : NULL;
  if (!c || c->state == TCPS_CLOSED || memcmp(&c->key, &s->key, sizeof c->key) != 0) {
    number = pg_flow_table_find(e->table, &s->key);
    c = number ? connection_of(e, number) : NULL;
  }
  if (e->udp) {
    tcp_udp_input(e, c, s);
    return;
  }
  if (c && begins_anew(e, c, s)) {
    tcp_end(e, c, NULL);
    c = NULL;
  }
  if (!c)
    nobody(e, s);
  else if (c->state == TCPS_SYN_SENT)
    syn_sent(e, c, s);
  else if (c->state != TCPS_CLOSED)
    synchronized(e, c, s);
}

/* Up to TCP_BURST packets, which stay the caller's. Those of ARP and ICMPv6 are listed in
 * e->other. */
void pg_tcp_input(struct tcp_endpoint *e, struct packet *const *packets, uint32_t n,
                  uint64_t now)
{
  enum { CHUNK = 64 };
  struct segment segments[CHUNK];
  uint32_t numbers[CHUNK];
  e->now = now;
  e->others = 0;
  e->counts.packets_received += n;
  for (uint32_t done = 0; done < n; done += CHUNK) {
    uint32_t count = 0, some = least(n - done, CHUNK);
    for (uint32_t i = 0; i < some; i++) {
      enum parsed result = tcp_parse(e, packets[done + i], &segments[count]);
      count += result == PARSED_SEGMENT;
      if (result == PARSED_OTHER)
        e->other[e->others++] = packets[done + i];
    }
    pg_flow_table_find_many(e->table, &segments[0].key, sizeof segments[0], count, numbers);
    for (uint32_t i = 0; i < count; i++)
      tcp_segment(e, &segments[i], numbers[i]);
  }
}
