/* SPDX-License-Identifier: Apache-2.0
 *
 * What an acknowledgement does: round trips measured, windows, what is sent again.
 */
#include "internal.h"

enum { DUPLICATES = 3 };

/* The timeout by what has been measured, as if it had never been backed off. */
void tcp_reset_rto(struct tcp_connection *c, uint32_t least_rto)
{
  uint64_t rto = (uint64_t)c->srtt + greatest(1u << (TICK_SHIFT - 10), 4 * c->rttvar);
  if (c->srtt == 0)
    rto = FIRST_RTO;
  c->rto = rto < least_rto ? least_rto : rto > MOST_RTO ? MOST_RTO : (uint32_t)rto;
}

/* RFC 6298, section 2, in microseconds. */
void tcp_measure(struct tcp_connection *c, uint32_t us, uint32_t least_rto)
{
  if (us == 0)
    us = 1;
  if (c->srtt == 0) {
    c->srtt = us;
    c->rttvar = us / 2;
  } else {
    uint32_t difference = c->srtt > us ? c->srtt - us : us - c->srtt;
    c->rttvar = c->rttvar - c->rttvar / 4 + difference / 4;
    c->srtt = c->srtt - c->srtt / 8 + us / 8;
  }
  tcp_reset_rto(c, least_rto);
}

/* RFC 5681, section 3.1. */
static void grow(struct tcp_connection *c, uint32_t acked)
{
  uint32_t more = c->congestion < c->threshold
                    ? least(acked, c->mss)
                    : greatest(1, (uint32_t)((uint64_t)c->mss * c->mss / c->congestion));
  if (c->congestion < (1u << 30))
    c->congestion += more;
}

/* RFC 6582, section 3.2, step 3. */
static void recover(struct tcp_connection *c, uint32_t ack, uint32_t acked)
{
  if (!seq_before(ack, c->recover)) {
    c->congestion = least(c->threshold, greatest(c->most - ack, c->mss) + c->mss);
    c->flags &= ~C_RECOVERY;
    c->duplicate_acks = 0;
    return;
  }
  c->flags |= C_RESEND;
  c->congestion = c->congestion > acked ? c->congestion - acked : 0;
  c->congestion = greatest(c->congestion + (acked >= c->mss ? c->mss : 0), c->mss);
}

static void advance(struct tcp_endpoint *e, struct tcp_connection *c, uint32_t ack)
{
  uint32_t acked = ack - c->una;
  if (c->timed_at && !seq_before(ack, c->timed)) {
    tcp_measure(c, now_us(e) - c->timed_at, e->least_rto);
    c->timed_at = 0;
  }
  c->una = ack;
  c->retries = 0;
  if (seq_before(c->next, ack))
    c->next = ack;
  if (c->flags & C_RECOVERY) {
    recover(c, ack, acked);
  } else {
    c->duplicate_acks = 0;
    grow(c, acked);
  }
  if (c->una == c->most)
    c->resend_at = 0;
  else
    tcp_resend_later(e, c);
  tcp_make_ready(e, c);
}

/* Fast retransmit (RFC 5681, section 3.2; RFC 6582). */
static void duplicate(struct tcp_endpoint *e, struct tcp_connection *c)
{
  if (c->duplicate_acks < UINT8_MAX)
    c->duplicate_acks++;
  if (c->flags & C_RECOVERY) {
    c->congestion += c->mss;
    tcp_make_ready(e, c);
  } else if (c->duplicate_acks == DUPLICATES && !seq_before(c->una, c->recover)) {
    c->threshold = greatest((c->most - c->una) / 2, 2 * c->mss);
    c->congestion = c->threshold + DUPLICATES * c->mss;
    c->recover = c->most;
    c->flags |= C_RECOVERY | C_RESEND;
    c->timed_at = 0;
    e->counts.fast_retransmits++;
    tcp_make_ready(e, c);
  } else if (c->duplicate_acks < DUPLICATES) {
    tcp_make_ready(e, c);
  }
}

static void take_window(struct tcp_endpoint *e, struct tcp_connection *c,
                        const struct segment *s, uint32_t window)
{
  if (seq_before(s->seq, c->window_seq) ||
      (s->seq == c->window_seq && seq_before(s->ack, c->window_ack)))
    return;
  if (c->window == 0 && window > 0) {
    c->next = c->una; /* what was beyond the window is lost */
    c->resend_at = 0;
  }
  if (window > c->window)
    tcp_make_ready(e, c);
  c->window = window;
  c->window_seq = s->seq;
  c->window_ack = s->ack;
}

/* Of a segment whose acknowledgement is of something that was sent. */
void tcp_acknowledge(struct tcp_endpoint *e, struct tcp_connection *c,
                     const struct segment *s)
{
  uint32_t window = s->window;
  if (c->flags & C_SHIFTS)
    window <<= c->window_shift;
  if (seq_before(c->una, s->ack)) {
    advance(e, c, s->ack);
  } else if (s->ack == c->una) {
    c->retries = 0; /* it lives: its window may stay closed (RFC 9293, 3.8.6.1) */
    c->stalled = tick_of(e->now);
    bool again = s->length == 0 && !(s->flags & TCP_FIN) && c->una != c->most &&
                 window > 0;
    if (again && (window == c->window || s->sacks)) /* RFC 6675, section 2 */
      duplicate(e, c);
  }
  if (!seq_before(s->ack, c->una))
    take_window(e, c, s, window);
  tcp_say(e, c);
}
