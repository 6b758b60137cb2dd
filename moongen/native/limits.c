/* SPDX-License-Identifier: Apache-2.0
 *
 * The limits that packets obey on their way to a device, whatever function sends them:
 * of a limiter or of their own delays, of the queue, and of the device, whose queues
 * share one. How they are kept is src/net/rate's.
 */
#include <stdbool.h>
#include <stdint.h>

#include "internal.h"

/* The limits of packets that go to the queue, with those of `first` (may be NULL). */
void mg_limits_of(const struct mg_queue *q, struct pg_pacer *first, struct pg_limits *l)
{
  struct pg_pacer *all[PG_LIMITS_MOST] = {
    first, __atomic_load_n(&q->pacer, __ATOMIC_ACQUIRE),
    __atomic_load_n(&q->device->pacer, __ATOMIC_ACQUIRE)};
  l->n = 0;
  for (int i = 0; i < PG_LIMITS_MOST; i++)
    if (all[i])
      l->list[l->n++] = all[i];
}

static bool has_gaps(struct packet *const *packets, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++)
    if (!packets[i])
      return true;
  return false;
}

static bool goes_on(bool look)
{
  mg_look_after_caches();
  return !look || mg_running(0);
}

/* Send all at the times of the pacer (may be NULL), and at the queue's and the device's
 * rate. Returns how many were sent (those that were not when the script was to end are
 * freed), or an enum mg_fault. */
int32_t mg_send_through(struct mg_queue *q, struct pg_pacer *p, struct packet **packets,
                        uint32_t n)
{
  struct pg_limits l;
  uint32_t sent = 0;
  if (has_gaps(packets, n))
    return MG_NO_BUFFER;
  mg_limits_of(q, p, &l);
  while (sent < n) {
    int32_t may_go = n - sent;
    if (l.n > 0)
      may_go = pg_limits_wait(&l, packets + sent, n - sent, goes_on);
    if (may_go == 0) {
      mg_free(packets + sent, n - sent);
      break;
    }
    int32_t result = mg_send_now(q, packets + sent, may_go);
    if (result < 0)
      return result;
    sent += may_go;
  }
  return sent;
}

/* Send those that the queue's and the device's rate let go now, and that the device
 * takes: how many, or an enum mg_fault. The others stay the script's. */
int32_t mg_try_send_paced(struct mg_queue *q, struct packet **packets, uint32_t n)
{
  struct pg_limits l;
  uint64_t due = 0;
  if (has_gaps(packets, n))
    return MG_NO_BUFFER;
  mg_limits_of(q, NULL, &l);
  pg_limits_lock(&l);
  uint64_t now = rte_rdtsc();
  int32_t may_go = pg_limits_take(&l, packets, RTE_MIN(n, (uint32_t)MG_BURST), now, &due);
  int32_t sent = may_go > 0 ? mg_try_send_now(q, packets, may_go) : 0;
  if (sent < may_go)
    pg_limits_take_back(&l, packets, sent > 0 ? sent : 0, now);
  pg_limits_unlock(&l);
  return sent;
}
