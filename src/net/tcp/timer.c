/* SPDX-License-Identifier: Apache-2.0
 *
 * Timers of connections: a wheel of two levels, ticks and 1,024 ticks (Varghese and
 * Lauck, SOSP 1987). A connection is in it once, for the first of what it waits for; when
 * that was put off it is looked at, and put in again.
 */
#include "internal.h"

enum { LEVEL = TCP_SLOTS, MASK = TCP_SLOTS - 1, SHIFT = 10 };

static uint32_t *slot_of(struct tcp_endpoint *e, const struct tcp_connection *c)
{
  uint32_t at = c->wheel_at;
  return c->slot_level == 1 ? &e->wheel.level[0][at & MASK]
                            : &e->wheel.level[1][(at >> SHIFT) & MASK];
}

/* Take it out of the wheel. */
void tcp_unschedule(struct tcp_endpoint *e, struct tcp_connection *c)
{
  if (!c->slot_level)
    return;
  if (c->before)
    connection_of(e, c->before)->after = c->after;
  else
    *slot_of(e, c) = c->after;
  if (c->after)
    connection_of(e, c->after)->before = c->before;
  c->slot_level = 0;
  c->before = c->after = 0;
}

static void put_in(struct tcp_endpoint *e, struct tcp_connection *c, uint32_t at)
{
  uint32_t farthest = e->wheel.tick + (LEVEL - 1) * LEVEL;
  uint32_t number = number_of(e, c);
  if (seq_before(at, e->wheel.tick + 1))
    at = e->wheel.tick + 1;
  if (seq_before(farthest, at))
    at = farthest;
  c->wheel_at = at;
  c->slot_level = at - e->wheel.tick < LEVEL ? 1 : 2;
  uint32_t *slot = slot_of(e, c);
  c->before = 0;
  c->after = *slot;
  if (*slot)
    connection_of(e, *slot)->before = number;
  *slot = number;
}

/* What it waits for first; 0: nothing. */
static uint32_t first_of(const struct tcp_connection *c)
{
  if (!c->resend_at || !c->act_at)
    return c->resend_at | c->act_at;
  return seq_before(c->resend_at, c->act_at) ? c->resend_at : c->act_at;
}

void tcp_schedule(struct tcp_endpoint *e, struct tcp_connection *c)
{
  uint32_t at = first_of(c);
  if (!at || (c->slot_level && !seq_before(at, c->wheel_at)))
    return;
  tcp_unschedule(e, c);
  put_in(e, c, at);
}

/* What isn't acknowledged by then is sent again; or given up, if so much time has passed
 * since the peer last acknowledged anything. */
void tcp_resend_later(struct tcp_endpoint *e, struct tcp_connection *c)
{
  uint32_t now = tick_of(e->now), at = tick_of(e->now + (uint64_t)c->rto * 1000) + 1;
  if (c->retries == 0)
    c->stalled = now;
  uint32_t end = c->stalled + e->give_up + 1;
  if (seq_before(end, at))
    at = end;
  c->resend_at = at ? at : 1;
  tcp_schedule(e, c);
}

/* RFC 6298, section 5: 5.4 to 5.6; RFC 5681, equation 4. */
static void timed_out(struct tcp_endpoint *e, struct tcp_connection *c)
{
  c->resend_at = 0;
  bool opening = c->state == TCPS_SYN_SENT || c->state == TCPS_SYN_RECEIVED;
  if (e->wheel.tick - c->stalled > e->give_up) {
    tcp_abort(e, c, &e->counts.timed_out);
    return;
  }
  c->retries += c->retries < UINT8_MAX;
  c->timed_at = 0; /* Karn: no measure of what was sent twice */
  c->rto = least(c->rto * 2, MOST_RTO);
  if (e->udp) {
    tcp_udp_timeout(e, c);
  } else if (opening) {
    c->flags |= C_SYN_OWED;
    e->counts.timeouts++;
  } else if (c->una == c->most || c->window == 0) {
    c->flags |= C_PROBE;
    e->counts.probes++;
  } else {
    uint32_t flight = c->most - c->una;
    c->threshold = greatest(flight / 2, 2 * c->mss);
    c->congestion = c->mss;
    c->next = c->una;
    c->flags &= ~(C_RECOVERY | C_RESEND);
    c->duplicate_acks = 0;
    c->recover = c->most;
    e->counts.timeouts++;
  }
  tcp_make_ready(e, c);
  tcp_resend_later(e, c);
}

static bool is_due(uint32_t at, uint32_t tick) { return at && !seq_before(tick, at); }

static void fire(struct tcp_endpoint *e, struct tcp_connection *c)
{
  uint32_t tick = e->wheel.tick;
  if (is_due(c->act_at, tick)) {
    c->act_at = 0;
    (e->udp ? tcp_udp_act : tcp_act)(e, c);
    if (c->state == TCPS_CLOSED)
      return;
  }
  if (is_due(c->resend_at, tick)) {
    timed_out(e, c);
    if (c->state == TCPS_CLOSED)
      return;
  }
  tcp_schedule(e, c);
}

/* Those of the second level whose time is within the next 1,024 ticks. */
static void come_nearer(struct tcp_endpoint *e)
{
  uint32_t *slot = &e->wheel.level[1][(e->wheel.tick >> SHIFT) & MASK];
  while (*slot) {
    struct tcp_connection *c = connection_of(e, *slot);
    uint32_t at = c->wheel_at;
    tcp_unschedule(e, c);
    if (at == e->wheel.tick) { /* its slot is done next */
      c->slot_level = 1;
      c->wheel_at = at;
      uint32_t *to = slot_of(e, c), number = number_of(e, c);
      c->after = *to;
      if (*to)
        connection_of(e, *to)->before = number;
      *to = number;
    } else {
      put_in(e, c, at);
    }
  }
}

/* All that is due at `now`, in ns. */
void pg_tcp_timers(struct tcp_endpoint *e, uint64_t now)
{
  uint32_t until = tick_of(now);
  e->now = now;
  while (seq_before(e->wheel.tick, until)) {
    uint32_t tick = ++e->wheel.tick;
    if ((tick & MASK) == 0)
      come_nearer(e);
    uint32_t *slot = &e->wheel.level[0][tick & MASK];
    while (*slot) {
      struct tcp_connection *c = connection_of(e, *slot);
      if (*slot && c->after)
        __builtin_prefetch(connection_of(e, c->after));
      tcp_unschedule(e, c);
      fire(e, c);
    }
  }
}

/* Until when pg_tcp_timers() needn't be called, in ns, if nothing is received or sent: for
 * a quarter of a second at most. */
uint64_t pg_tcp_due(const struct tcp_endpoint *e)
{
  enum { AHEAD = 256 };
  uint32_t n = 1, tick = e->wheel.tick + 1;
  for (; n < AHEAD; n++, tick++)
    if (e->wheel.level[0][tick & MASK] ||
        ((tick & MASK) == 0 && e->wheel.level[1][(tick >> SHIFT) & MASK]))
      break;
  uint32_t behind = tick_of(e->now) - e->wheel.tick;
  return ((e->now >> TICK_SHIFT) - behind + n) << TICK_SHIFT;
}
