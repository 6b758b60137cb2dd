/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments that are sent. Whatever happens to a connection puts it into a list; from that
 * list segments are made while there is room for packets, so that one acknowledgement
 * goes with data, or stands for a burst.
 */
#include "internal.h"

void tcp_make_ready(struct tcp_endpoint *e, struct tcp_connection *c)
{
  if (c->flags & C_READY)
    return;
  uint32_t number = number_of(e, c);
  c->flags |= C_READY;
  c->ready = 0;
  if (e->ready_last)
    connection_of(e, e->ready_last)->ready = number;
  else
    e->ready_first = number;
  e->ready_last = number;
}

/* A segment of data (or of none) was sent, up to `end`: note what follows. */
static void sent(struct tcp_endpoint *e, struct tcp_connection *c, uint32_t seq,
                 uint32_t n, uint32_t end)
{
  bool again = seq_before(seq, c->most);
  uint32_t known = again ? least(n, c->most - seq) : 0;
  e->counts.retransmits += again;
  e->counts.bytes_resent += known;
  e->counts.bytes_sent += n - known;
  if (!again && !c->timed_at) {
    c->timed = end;
    c->timed_at = now_us(e);
  }
  c->acks_owed = 0;
  if (seq_before(c->most, end))
    c->most = end;
  if (!c->resend_at)
    tcp_resend_later(e, c);
}

static void fin_sent(struct tcp_connection *c)
{
  if (c->state == TCPS_ESTABLISHED)
    c->state = TCPS_FIN_WAIT_1;
  else if (c->state == TCPS_CLOSE_WAIT)
    c->state = TCPS_LAST_ACK;
}

/* Up to `n` bytes from `seq` on, and the FIN if they are the last. How far it came. */
static bool send_from(struct tcp_endpoint *e, struct tcp_connection *c, uint32_t seq,
                      uint32_t n, uint32_t *end)
{
  bool last = seq + n == c->out_to, fin = last && (c->flags & C_CLOSING);
  uint32_t flags = TCP_ACK_FLAG | (last && n ? TCP_PSH : 0) | (fin ? TCP_FIN : 0);
  if (!tcp_emit(e, c, seq, n, flags))
    return false;
  *end = seq + n + fin;
  sent(e, c, seq, n, *end);
  if (fin)
    fin_sent(c);
  return true;
}

static bool send_syn(struct tcp_endpoint *e, struct tcp_connection *c)
{
  bool first = c->next == c->una;
  uint32_t flags = c->state == TCPS_SYN_SENT ? TCP_SYN : TCP_SYN | TCP_ACK_FLAG;
  if (!tcp_emit(e, c, c->una, 0, flags))
    return false;
  c->flags &= ~C_SYN_OWED;
  c->acks_owed = 0;
  c->next = c->most = c->una + 1;
  if (first) {
    c->timed = c->next;
    c->timed_at = now_us(e);
    if (c->state == TCPS_SYN_SENT)
      c->asked_at = c->timed_at;
  } else {
    e->counts.retransmits++;
  }
  if (!c->resend_at)
    tcp_resend_later(e, c);
  return true;
}

/* What the windows let through. False: no room. */
static bool send_data(struct tcp_endpoint *e, struct tcp_connection *c)
{
  /* A segment more for each of the first duplicates (RFC 3042). */
  uint32_t more = c->flags & C_RECOVERY ? 0 : least(c->duplicate_acks, 2) * c->mss;
  uint32_t limit = least(c->congestion + more, c->window), end;
  while (seq_before(c->next, c->out_to)) {
    uint32_t flight = c->next - c->una, left = c->out_to - c->next;
    uint32_t n = flight < limit ? limit - flight : 0;
    n = least(least(n, left), c->mss);
    if (n < least(left, c->mss) && (n == 0 || flight > 0))
      break; /* rather a whole segment later (RFC 9293, section 3.8.6.2.1) */
    if (!send_from(e, c, c->next, n, &end))
      return false;
    c->next = end;
  }
  if ((c->flags & C_CLOSING) && c->next == c->out_to) {
    if (!send_from(e, c, c->next, 0, &end))
      return false;
    c->next = end;
  }
  /* Nothing under way, and something to send: ask for the window again and again. */
  if (c->una == c->most && seq_before(c->next, c->out_to) && !c->resend_at)
    tcp_resend_later(e, c);
  return true;
}

static bool send_again(struct tcp_endpoint *e, struct tcp_connection *c)
{
  uint32_t end, n = seq_before(c->una, c->out_to) ? c->out_to - c->una : 0;
  if (c->una != c->most && !send_from(e, c, c->una, least(n, c->mss), &end))
    return false;
  c->flags &= ~C_RESEND;
  return true;
}

/* A byte beyond the window (RFC 9293, section 3.8.6.1). */
static bool send_probe(struct tcp_endpoint *e, struct tcp_connection *c)
{
  uint32_t end;
  if (seq_before(c->una, c->out_to)) {
    if (!send_from(e, c, c->una, 1, &end))
      return false;
    if (seq_before(c->next, end))
      c->next = end;
  }
  c->flags &= ~C_PROBE;
  return true;
}

/* All that a connection may send now. False: there is no room for the rest. */
static bool send_all(struct tcp_endpoint *e, struct tcp_connection *c)
{
  if (e->udp)
    return tcp_udp_send(e, c);
  if (c->flags & C_SYN_OWED)
    return send_syn(e, c);
  if (c->state < TCPS_ESTABLISHED)
    return true;
  if (c->state != TCPS_TIME_WAIT) {
    if ((c->flags & C_RESEND) && !send_again(e, c))
      return false;
    if ((c->flags & C_PROBE) && !send_probe(e, c))
      return false;
    if (!send_data(e, c))
      return false;
  }
  while (c->acks_owed > 0) {
    if (!tcp_emit(e, c, c->next, 0, TCP_ACK_FLAG))
      return false;
    c->acks_owed--;
  }
  return true;
}

/* Make packets, up to `out_room` in e->outgoing, of `spares` that are empty; how many
 * connections may send still. */
uint32_t pg_tcp_output(struct tcp_endpoint *e, uint64_t now)
{
  e->now = now;
  while (e->ready_first) {
    struct tcp_connection *c = connection_of(e, e->ready_first);
    if (c->ready)
      __builtin_prefetch(connection_of(e, c->ready));
    if (c->state != TCPS_CLOSED && !send_all(e, c))
      return 1;
    e->ready_first = c->ready;
    if (!c->ready)
      e->ready_last = 0;
    c->flags &= ~C_READY;
    c->ready = 0;
    if (c->state == TCPS_CLOSED)
      tcp_remove(e, c);
  }
  return 0;
}
