/* SPDX-License-Identifier: Apache-2.0
 *
 * Sending from a script's buffers: looked through once for what mustn't be sent, then
 * given to the device, as a burst.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "../../src/native/api.h"
#include "../../src/native/driver.h"
#include "../../src/native/host.h"
#include "check.h"
#include "internal.h"

/* A ring whose other end nobody empties loses what is sent into it, as a cable does
 * that leads to a card without descriptors: at once after so many packets, else the
 * sender's pool would end up in there. While it is emptied, who sends waits. */
#define DEAF_SECONDS 1.0
#define NEW_SECONDS 3.0  /* for who is to begin to empty it */
enum { MOST_UNHEARD = 256 };

/* After the end, what a device doesn't take is given up. */
#define PATIENCE_SECONDS 0.2

/* What a look at a burst found. */
struct look {
  uint64_t bytes, flags;
  uint16_t shortest, longest;
};

/* A buffer's fields from data_off to data_len, which are all that is looked at. */
typedef uint64_t fields __attribute__((vector_size(32)));

enum { FIELDS = offsetof(struct rte_mbuf, data_off) };

_Static_assert(offsetof(struct rte_mbuf, refcnt) == FIELDS + 2 &&
               offsetof(struct rte_mbuf, port) == FIELDS + 6 &&
               offsetof(struct rte_mbuf, ol_flags) == FIELDS + 8 &&
               offsetof(struct rte_mbuf, pkt_len) == FIELDS + 20 &&
               offsetof(struct rte_mbuf, data_len) == FIELDS + 24,
               "these fields are read together");

/* In the first 8 bytes of them: the mark, and the references, of which there is one. */
static const uint64_t STATE = (uint64_t)MG_GONE << 48 | 0xffffull << 16;
static const uint64_t ORDINARY = 1ull << 16;

static inline void read_fields(fields *f, const struct rte_mbuf *m)
{
  memcpy(f, (const char *)m + FIELDS, sizeof *f);
}

static inline uint32_t pkt_len_of(const fields *f)
{
  return (*f)[2] >> 32;
}

static inline uint16_t data_len_of(const fields *f)
{
  return (*f)[3];
}

/* Of buffers that aren't all alike. */
static __attribute__((noinline)) void measure(struct rte_mbuf **packets, uint32_t n,
                                              struct look *look)
{
  *look = (struct look){.shortest = UINT16_MAX};
  for (uint32_t i = 0; i < n; i++) {
    struct rte_mbuf *m = packets[i];
    uint16_t length = m->data_len;
    if (m->pkt_len != length)
      m->pkt_len = length;
    look->bytes += length;
    look->flags |= m->ol_flags;
    look->shortest = RTE_MIN(look->shortest, length);
    look->longest = RTE_MAX(look->longest, length);
  }
}

/* Mark buffers of which some aren't ordinary: 0, or why one mustn't be sent; then none
 * is marked. One with several references may be sent as often. */
static __attribute__((noinline)) int32_t mark_each(struct rte_mbuf **packets, uint32_t n)
{
  int32_t why = 0;
  uint32_t i;
  for (i = 0; i < n && !why; i++) {
    struct rte_mbuf *m = packets[i];
    if (!m)
      why = MG_NO_BUFFER;
    else if (mg_is_gone(m))
      why = MG_SENT_TWICE;
    else
      mg_note_gone(m);
  }
  if (why)
    for (i--; i-- > 0;)
      packets[i]->port = MG_OWNED;
  return why;
}

/* Look through a burst, and mark each buffer as gone: 0, or why one mustn't be sent; then
 * none is marked. Most bursts are of ordinary buffers that are alike, for which one pass
 * without a decision does: marks are turned over, so that they can be turned back. */
static inline int32_t look_at(struct rte_mbuf **packets, uint32_t n, struct look *look)
{
  fields first = {0}, differing = {0};
  uint32_t i;
  if (likely(n > 0 && packets[0]))
    read_fields(&first, packets[0]);
#pragma GCC unroll 4
  for (i = 0; i < n; i++) {
    struct rte_mbuf *m = packets[i];
    if (unlikely(!m))
      break;
    fields f;
    read_fields(&f, m);
    differing |= f ^ first;
    m->port ^= MG_GONE;
  }
  if (unlikely(i < n || ((first[0] ^ ORDINARY) & STATE) || (differing[0] & STATE))) {
    while (i-- > 0)
      packets[i]->port ^= MG_GONE;
    int32_t why = mark_each(packets, n);
    if (why)
      return why;
    measure(packets, n, look);
    return 0;
  }
  uint16_t length = data_len_of(&first);
  *look = (struct look){(uint64_t)n * length, first[1], length, length};
  if (unlikely(differing[1] || pkt_len_of(&differing) || data_len_of(&differing) ||
               pkt_len_of(&first) != length))
    measure(packets, n, look);
  return 0;
}

/* Has a script set a length that is more than the buffer has? */
static bool is_beyond(const struct rte_mbuf *m)
{
  return (uint32_t)m->data_off + m->data_len > m->buf_len;
}

static bool any_beyond(struct rte_mbuf **packets, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++)
    if (is_beyond(packets[i]))
      return true;
  return false;
}

/* Drop those; how many stay. */
static uint32_t drop_beyond(struct mg_queue *q, struct rte_mbuf **packets, uint32_t n)
{
  uint32_t kept = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (is_beyond(packets[i]))
      rte_pktmbuf_free(packets[i]);
    else
      packets[kept++] = packets[i];
  }
  q->beyond += n - kept;
  q->dropped += n - kept;
  return kept;
}

/* Drop what the port can't send; how many stay. */
static uint32_t drop_unsendable(struct mg_queue *q, struct rte_mbuf **packets, uint32_t n)
{
  struct port *port = q->port;
  uint64_t oversize = port->tx_oversize, runt = port->tx_runt;
  uint32_t kept = pg_drop_unsendable(port, packets, n);
  q->too_long += port->tx_oversize - oversize;
  q->too_short += port->tx_runt - runt;
  q->dropped += n - kept;
  return kept;
}

static inline uint32_t burst(struct mg_queue *q, struct rte_mbuf **packets, uint32_t n)
{
  pg_spin_lock(q->lock);
  uint32_t taken = port_send(q->port, packets, n);
  pg_spin_unlock(q->lock);
  return taken;
}

static bool is_deaf(const struct mg_queue *q)
{
  struct mg_device *d = q->device;
  if (!d->peer)
    return false;
  uint64_t now = rte_rdtsc(), hz = rte_get_tsc_hz();
  uint64_t polled = __atomic_load_n(&d->peer->polled, __ATOMIC_RELAXED);
  if (polled)
    return (int64_t)(now - polled) > (int64_t)(DEAF_SECONDS * hz); /* or just now */
  if (!d->unheard_since)
    d->unheard_since = now;
  return now - d->unheard_since > (uint64_t)(NEW_SECONDS * hz);
}

/* Is there any use in sending a burst? */
static bool is_heard(const struct mg_queue *q, uint32_t n)
{
  struct mg_device *d = q->device;
  if (!is_deaf(q)) {
    d->unheard = 0;
    return true;
  }
  d->unheard += n;
  return d->unheard <= MOST_UNHEARD;
}

/* Nobody takes these. */
static void lose(struct mg_queue *q, struct rte_mbuf **packets, uint32_t n)
{
  struct mg_device *peer = q->device->peer;
  uint64_t bytes = pg_sum(packets, n).bytes;
  if (peer) { /* that is where a cable's end would count them */
    __atomic_fetch_add(&peer->missed, n, __ATOMIC_RELAXED);
    __atomic_fetch_add(&peer->missed_bytes, bytes, __ATOMIC_RELAXED);
  } else {
    q->dropped += n;
    q->refused += n;
    q->packets -= n;
    q->bytes -= bytes;
  }
  rte_pktmbuf_free_bulk(packets, n);
}

/* Send the rest of a burst when the device has room. */
static void insist(struct mg_queue *q, struct rte_mbuf **packets, uint32_t n)
{
  for (uint32_t tries = 1; n > 0; tries++) {
    uint32_t taken = burst(q, packets, n);
    packets += taken;
    n -= taken;
    if (taken > 0 || n == 0)
      continue;
    if (is_deaf(q) || (tries % 1024 == 0 && mg_ended_for(PATIENCE_SECONDS))) {
      lose(q, packets, n);
      return;
    }
    mg_look_after_caches();
    mg_idle(tries);
  }
}

/* The device hasn't taken these: they are the script's again. */
static void give_back(struct mg_queue *q, struct rte_mbuf **packets, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++) {
    packets[i]->port = MG_OWNED;
    mg_note_kept(packets[i]);
    q->packets--;
    q->bytes -= packets[i]->data_len;
  }
}

/* A burst of up to MG_BURST packets: how many of them aren't the script's any more, or an
 * enum mg_fault. All unless the device is full and it isn't to be waited for (`waits`). */
static inline int32_t send_burst(struct mg_queue *q, struct rte_mbuf **bufs, uint32_t n,
                                 bool waits)
{
  struct rte_mbuf *aside[MG_BURST], **packets = bufs;
  uint32_t kept = n;
  struct look look;
  int32_t why = look_at(bufs, n, &look);
  if (unlikely(why))
    return why;
  bool beyond = unlikely(look.longest > MG_LEAST_ROOM) && any_beyond(bufs, n);
  bool unsendable = look.longest > q->port->max_frame ||
                    look.shortest < q->port->min_frame;
  if (unlikely(beyond || unsendable)) {
    memcpy(aside, bufs, n * sizeof *bufs); /* the script's array stays as it is */
    packets = aside;
    waits = true; /* it couldn't be said which ones are left */
  }
  if (unlikely(beyond))
    kept = drop_beyond(q, packets, kept);
  if (unlikely(look.flags))
    pg_offload_burst(q->port, packets, kept);
  if (unlikely(unsendable))
    kept = drop_unsendable(q, packets, kept);
  if (unlikely(kept < n))
    look.bytes = pg_sum(packets, kept).bytes;
  q->packets += kept;
  q->bytes += look.bytes;
  if (unlikely(q->device->peer != NULL) && !is_heard(q, kept)) {
    lose(q, packets, kept);
    return n;
  }
  if (unlikely(mg_checks))
    mg_note_sent(packets, kept);
  if (unlikely(q->soft.stamps))
    q->before = rte_rdtsc();
  uint32_t taken = burst(q, packets, kept);
  if (unlikely(q->soft.stamps))
    q->after = rte_rdtsc();
  if (likely(taken == kept))
    return n;
  if (!waits && !is_deaf(q)) {
    give_back(q, packets + taken, kept - taken);
    return taken;
  }
  insist(q, packets + taken, kept - taken);
  return n;
}

/* Send all of them, whatever rate the queue has: how many, or why not (mg_fault). */
int32_t mg_send_now(struct mg_queue *q, struct packet **bufs, uint32_t n)
{
  mg_look_after_caches();
  mg_use(q);
  for (uint32_t done = 0; done < n; done += MG_BURST) {
    uint32_t chunk = RTE_MIN(n - done, (uint32_t)MG_BURST);
    int32_t result = send_burst(q, (struct rte_mbuf **)bufs + done, chunk, true);
    if (unlikely(result < 0))
      return result;
  }
  return n;
}

/* Send all of them, as fast as the queue may: how many, or why not (mg_fault). */
int32_t mg_send(struct mg_queue *q, struct packet **bufs, uint32_t n)
{
  return unlikely(q->paced) ? mg_send_through(q, NULL, bufs, n) : mg_send_now(q, bufs, n);
}

/* Send as many as the device takes at once, whatever rate the queue has: how many, or why
 * not (mg_fault). The others stay the script's. */
int32_t mg_try_send_now(struct mg_queue *q, struct packet **bufs, uint32_t n)
{
  mg_look_after_caches();
  mg_use(q);
  return send_burst(q, (struct rte_mbuf **)bufs, RTE_MIN(n, (uint32_t)MG_BURST), false);
}

/* The same, of those that the queue's rate lets go. */
int32_t mg_try_send(struct mg_queue *q, struct packet **bufs, uint32_t n)
{
  return unlikely(q->paced) ? mg_try_send_paced(q, bufs, n) : mg_try_send_now(q, bufs, n);
}
