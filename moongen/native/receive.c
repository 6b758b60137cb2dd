/* SPDX-License-Identifier: Apache-2.0
 *
 * Receiving into a script's array. A device that has fewer queues than the script, or
 * can't sort packets, is shared: whoever asks takes a burst from it, keeps what is for
 * its own queue and puts the rest into the others' rings.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "../../src/native/api.h"
#include "../../src/native/driver.h"
#include "../../src/native/host.h"
#include "check.h"
#include "internal.h"

/* Drivers with vector code return nothing when asked for fewer than 4. */
enum { FEWEST = 32 };

/* Who asks passes so many bursts on to others, until there is something for itself: if
 * it gave up its CPU after each, a busy machine would never see the end of them. */
enum { MOST_BURSTS = 16 };

static inline void note_polled(struct mg_queue *q, uint64_t now)
{
  __atomic_store_n(&q->soft.polled, now, __ATOMIC_RELAXED);
  __atomic_store_n(&q->device->polled, now, __ATOMIC_RELAXED);
}

/* How many bytes these have, each in one segment. */
static inline uint32_t bytes_of(struct rte_mbuf **packets, uint32_t n)
{
  uint32_t sum = 0;
#pragma GCC unroll 8
  for (uint32_t i = 0; i < n; i++) {
    sum += packets[i]->pkt_len;
    rte_compiler_barrier(); /* gathering them in vectors is slower */
  }
  return sum;
}

/* The script owns these now. DPDK's drivers have mostly written the device's number
 * already, into all or none. */
static inline void give(struct mg_queue *q, struct rte_mbuf **packets, uint32_t n,
                        uint64_t bytes)
{
  uint16_t id = q->device->id;
  if (unlikely(mg_checks))
    mg_note_back(packets, n);
  if (n > 0 && (q->device->peer || q->port->own || packets[0]->port != id))
    for (uint32_t i = 0; i < n; i++)
      packets[i]->port = id;
  if (unlikely(q->soft.stamps) && n > 0)
    q->after = ((struct packet *)packets[n - 1])->timestamp;
  q->packets += n;
  q->bytes += bytes;
}

/* A burst from the device's queue; its lock is held. */
static inline uint32_t fetch(struct port *port, struct rte_mbuf **packets, uint32_t n)
{
  uint32_t got = port_receive(port, packets, RTE_MIN(n, (uint32_t)MG_BURST));
  if (unlikely(port->tidy))
    got = pg_tidy(port, packets, got, NULL);
  return got;
}

/* The device's own count, which the rates of counters are made of. */
static inline void count(struct port *port, struct rte_mbuf **packets, uint32_t n)
{
  port->rxpackets += n;
  port->rxbytes += bytes_of(packets, n);
}

/* Of a queue that has the device's queue for itself. --------------------------- */

/* Fewer are wanted than drivers like: take more, and keep them. */
static uint32_t from_stash(struct mg_queue *q, struct rte_mbuf **packets, uint32_t n)
{
  struct rte_mbuf **stash = (struct rte_mbuf **)q->stash;
  if (q->nstash == 0) {
    q->nstash = fetch(q->port, stash, FEWEST);
    count(q->port, stash, q->nstash);
    if (q->soft.stamps)
      pg_stamp(q->stash, q->nstash, rte_rdtsc());
  }
  n = RTE_MIN(n, (uint32_t)q->nstash);
  memcpy(packets, stash, n * sizeof *packets);
  q->nstash -= n;
  memmove(stash, stash + n, q->nstash * sizeof *stash);
  return n;
}

static inline uint32_t receive_direct(struct mg_queue *q, struct rte_mbuf **packets,
                                      uint32_t n)
{
  uint32_t got;
  pg_spin_lock(q->lock);
  if (unlikely(q->nstash > 0 || n < FEWEST)) {
    got = from_stash(q, packets, n);
    pg_spin_unlock(q->lock);
    give(q, packets, got, bytes_of(packets, got));
    return got;
  }
  got = fetch(q->port, packets, n);
  uint32_t bytes = bytes_of(packets, got);
  q->port->rxpackets += got;
  q->port->rxbytes += bytes;
  pg_spin_unlock(q->lock);
  if (unlikely(q->soft.stamps))
    pg_stamp((struct packet **)packets, got, rte_rdtsc());
  give(q, packets, got, bytes);
  return got;
}

/* Of a device that is shared. --------------------------------------------------- */

/* A burst from the device, sorted, with its lock held: how many came; `got` of them are
 * in `packets`, which has room for `n`. */
static uint32_t fetch_sorted(struct mg_queue *q, int source, struct rte_mbuf **packets,
                             uint32_t n, uint64_t now, uint32_t *got)
{
  struct mg_device *d = q->device;
  struct port *port = &d->ports[source];
  struct rte_mbuf *burst[MG_BURST];
  struct packet *own[MG_BURST];
  bool room = rte_ring_free_count(q->soft.ring) >= MG_BURST &&
              pg_soft_queues_have_room(&d->soft, q->qid, MG_BURST, now);
  uint32_t came = room ? fetch(port, burst, MG_BURST) : 0;
  count(port, burst, came);
  uint32_t kept = pg_soft_queues_sort(&d->soft, q->qid, (struct packet **)burst, came, own,
                                      rte_rdtsc()); /* not before they were sent */
  *got = RTE_MIN(kept, n);
  for (uint32_t i = *got; i < kept; i++)
    pg_soft_queues_put(&d->soft, q->qid, own[i], now);
  memcpy(packets, own, *got * sizeof *packets);
  return came;
}

static uint32_t receive_shared(struct mg_queue *q, struct rte_mbuf **packets, uint32_t n,
                               uint64_t now)
{
  struct mg_device *d = q->device;
  int source = q->qid % d->sources;
  uint32_t got = rte_ring_dequeue_burst(q->soft.ring, (void **)packets, n, NULL);
  /* Another may be at the device: what it finds for this queue comes by the ring. */
  if (got == 0 && !__atomic_exchange_n(&d->rx_locks[source], 1, __ATOMIC_ACQUIRE)) {
    /* Since the look above another may have been here: what it found comes first. */
    got = rte_ring_dequeue_burst(q->soft.ring, (void **)packets, n, NULL);
    uint32_t came = 1;
    for (int i = 0; i < MOST_BURSTS && came > 0 && got == 0; i++)
      came = fetch_sorted(q, source, packets, n, now, &got);
    pg_spin_unlock(&d->rx_locks[source]);
  }
  give(q, packets, got, bytes_of(packets, got));
  return got;
}

/* What is there now, up to `n`: how many. */
int32_t mg_receive(struct mg_queue *q, struct packet **bufs, uint32_t n)
{
  mg_look_after_caches();
  mg_use(q);
  if (likely(q->direct && !q->device->peer))
    return receive_direct(q, (struct rte_mbuf **)bufs, n);
  uint64_t now = rte_rdtsc();
  note_polled(q, now);
  return q->direct ? receive_direct(q, (struct rte_mbuf **)bufs, n)
                   : receive_shared(q, (struct rte_mbuf **)bufs, n, now);
}

/* Who waits looks again and again for so long (TSC), and sleeps from then on where the
 * port tells when something comes. */
static uint64_t looks_for = UINT64_MAX;

/* After so many microseconds without a packet; less than 0: never. */
void mg_receive_sleeps(int32_t after_us)
{
  looks_for = after_us < 0 ? UINT64_MAX : after_us * 1e-6 * rte_get_tsc_hz();
}

/* Sleeping makes times of receipt late, and what others receive for the queue comes
 * without a word. */
static bool may_sleep(const struct mg_queue *q)
{
  return q->direct && q->device->nrx == 1 && !q->device->peer && !q->soft.stamps &&
         __atomic_load_n(&q->device->wake_fd, __ATOMIC_ACQUIRE) > 0;
}

/* Nothing came the `tries`th time in a row, in `waited` of `most` (TSC). `idle`: nap, where
 * there is no better way to sleep. */
static void rest(const struct mg_queue *q, uint64_t waited, uint64_t most, uint32_t tries,
                 bool idle)
{
  const double nap = 10e-6, longest = 0.1; /* the end of the script is seen in between */
  uint64_t looks = idle && looks_for != UINT64_MAX ? 0 : looks_for;
  if (waited >= looks && waited < most && may_sleep(q)) {
    double left = (double)(most - waited) / rte_get_tsc_hz();
    mg_look_after_caches();
    if (!pg_wait_for(q->device->wake_fd, RTE_MIN(left, longest)))
      mg_sleep(RTE_MIN(left, nap), 0); /* or its interface has gone */
  } else if (idle) {
    mg_sleep(nap, 0);
  } else {
    mg_idle(tries);
  }
}

/* Wait for packets, for so long (less than 0: until the script is to end): how many.
 * `idle`: sleep in between. */
int32_t mg_receive_wait(struct mg_queue *q, struct packet **bufs, uint32_t n,
                        double microseconds, int32_t idle)
{
  int32_t got = mg_receive(q, bufs, n);
  if (got > 0 || microseconds == 0 || n == 0)
    return got;
  uint64_t began = rte_rdtsc(), waited = 0;
  uint64_t most = microseconds > 0 && microseconds < 1e12
                    ? (uint64_t)(microseconds * 1e-6 * rte_get_tsc_hz())
                    : UINT64_MAX;
  for (uint32_t tries = 1; waited < most; tries++) {
    if (most == UINT64_MAX && !mg_running(0))
      return 0;
    rest(q, waited, most, tries, idle);
    got = mg_receive(q, bufs, n);
    if (got > 0)
      return got;
    waited = rte_rdtsc() - began;
  }
  mg_note_wait(most);
  return 0;
}
