/* SPDX-License-Identifier: Apache-2.0
 *
 * UDP's requests and answers, a datagram each. A client sends a request again, as TCP does,
 * until its answer comes; a server answers each, and keeps nothing.
 */
#include "internal.h"

/* Ask, from now on until an answer comes. */
static void ask(struct tcp_endpoint *e, struct tcp_connection *c)
{
  c->flags |= C_ASKED | C_RESEND;
  tcp_await(e, c, true);
  c->retries = 0;
  c->resend_at = 0;
  c->asked_at = now_us(e);
  e->counts.requests++;
  tcp_make_ready(e, c);
}

void tcp_udp_open(struct tcp_endpoint *e, struct tcp_connection *c)
{
  if (e->requests > 0)
    ask(e, c);
  else
    tcp_udp_act(e, c);
}

/* The request is owed. False: no room. */
bool tcp_udp_send(struct tcp_endpoint *e, struct tcp_connection *c)
{
  if (!(c->flags & C_RESEND))
    return true;
  if (!tcp_emit_datagram(e, &c->key, c->mac))
    return false;
  c->flags &= ~C_RESEND;
  if (c->retries == 0) {
    e->counts.bytes_sent += e->out.length;
  } else {
    e->counts.retransmits++;
    e->counts.bytes_resent += e->out.length;
  }
  tcp_resend_later(e, c);
  return true;
}

/* No answer has come. */
void tcp_udp_timeout(struct tcp_endpoint *e, struct tcp_connection *c)
{
  e->counts.timeouts++;
  c->flags |= C_RESEND;
  tcp_make_ready(e, c);
}

/* Go on, when nothing is asked. */
void tcp_udp_act(struct tcp_endpoint *e, struct tcp_connection *c)
{
  uint32_t tick = tick_of(e->now);
  if (c->turns < e->requests) {
    ask(e, c);
  } else if (!seq_before(tick, c->ends)) {
    tcp_end(e, c, &e->counts.closed);
  } else {
    c->act_at = c->ends;
    tcp_schedule(e, c);
  }
}

static void answered(struct tcp_endpoint *e, struct tcp_connection *c)
{
  uint32_t took = now_us(e) - c->asked_at;
  c->flags &= ~(C_ASKED | C_RESEND);
  tcp_await(e, c, false);
  c->resend_at = 0;
  c->turns++;
  e->counts.answers++;
  add_sample(&e->first_byte, 1e3 * took);
  if (c->retries == 0)
    tcp_measure(c, took, e->least_rto);
  else
    tcp_reset_rto(c, e->least_rto);
  if (c->state == TCPS_SYN_SENT) {
    c->state = TCPS_ESTABLISHED;
    e->counts.established++;
  }
  if (c->turns < e->requests && e->think) {
    uint32_t at = tick_of(e->now) + e->think + 1;
    c->act_at = at ? at : 1;
    tcp_schedule(e, c);
  } else {
    tcp_udp_act(e, c);
  }
}

static void serve(struct tcp_endpoint *e, const struct segment *s)
{
  if (!tcp_listens(e, s)) {
    e->counts.not_ours++;
    return;
  }
  e->counts.requests++;
  e->counts.bytes_received += s->length;
  if (!tcp_emit_datagram(e, &s->key, s->source_mac))
    return;
  e->counts.answers++;
  e->counts.bytes_sent += e->out.length;
}

/* A datagram; for a client also ICMP's word that nobody listens, which has TCP_RST. */
void tcp_udp_input(struct tcp_endpoint *e, struct tcp_connection *c,
                   const struct segment *s)
{
  if (e->server) {
    if (!(s->flags & TCP_RST))
      serve(e, s);
  } else if (!c || c->state == TCPS_CLOSED) {
    e->counts.not_ours++;
  } else if (s->flags & TCP_RST) {
    tcp_end(e, c, c->turns == 0 ? &e->counts.refused : &e->counts.reset);
  } else {
    e->counts.bytes_received += s->length;
    if (c->flags & C_ASKED)
      answered(e, c);
    else
      e->counts.duplicates++;
  }
}
