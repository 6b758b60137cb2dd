/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets that are kept, and sent again and again by reference count: nothing is copied,
 * and nothing allocated. They are close together, in pools of a set's own for some sizes
 * each. Only drivers ever share them, and only those that read what they send: neither
 * links nor apps get hold of one, as whoever frees or changes a packet takes it for his.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_prefetch.h>

#include "../api.h"
#include "../driver.h"
#include "../link_cursors.h"
#include "internal.h"
#include "io_cycles.h"

enum {
  CHUNK = 64,           /* packets that are counted up, and then sent */
  FEWEST_SLOTS = 4 * CHUNK,
  MOST_PACKETS = 1 << 28, /* DPDK's pools hardly take more */
  SMALLEST_ROOM = 64,   /* bytes; each class has twice the room of the one before */
  RESERVE = 40 << 20,   /* of DPDK's memory, for ports: those of AF_XDP take 31 MB */
  MOST_SHARED = 0xf000  /* of one packet at once: its count has 16 bits */
};

/* Pools of sets that were freed while a driver still had packets of theirs. Apps in
 * several threads may have sets. */
static struct rte_mempool **retired;
static size_t retirees;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint16_t room_of(int class)
{
  return RTE_MIN(SMALLEST_ROOM << class, (int)PACKET_MAX_PAYLOAD);
}

/* Which pool packets of that many bytes lie in, of PACKET_SET_CLASSES. */
int pg_packet_set_class(uint32_t length)
{
  int class = 0;
  while (room_of(class) < length)
    class++;
  return class;
}

static uint32_t element_size(int class)
{
  return sizeof(struct rte_mbuf) + PACKET_NOTES + room_of(class);
}

/* Bytes of memory that a set needs of which so many packets are of each class. */
double pg_packet_set_bytes(const uint32_t *counts)
{
  double bytes = 0;
  for (int i = 0; i < PACKET_SET_CLASSES; i++)
    bytes += (double)counts[i] *
             (rte_mempool_calc_obj_size(element_size(i), 0, NULL) + 3 * sizeof(void *));
  return bytes;
}

/* Bytes that DPDK has and doesn't use, without new hugepages. */
double pg_memory_at_hand(void)
{
  double bytes = 0;
  for (unsigned i = 0; i < rte_socket_count(); i++) {
    struct rte_malloc_socket_stats stats;
    if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats) == 0)
      bytes += stats.heap_freesz_bytes;
  }
  return bytes;
}

static bool idle(const struct rte_mempool *pool)
{
  return rte_mempool_avail_count(pool) == pool->populated_size;
}

/* Give back the memory of what drivers have sent meanwhile. */
static void reap(void)
{
  size_t kept = 0;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < retirees; i++)
    if (idle(retired[i]))
      rte_mempool_free(retired[i]);
    else
      retired[kept++] = retired[i];
  retirees = kept;
  pthread_mutex_unlock(&lock);
}

/* If there is no memory for the list the pool stays until the process ends. */
static void retire(struct rte_mempool *pool)
{
  pthread_mutex_lock(&lock);
  struct rte_mempool **list = realloc(retired, (retirees + 1) * sizeof *list);
  if (list) {
    retired = list;
    retired[retirees++] = pool;
  }
  pthread_mutex_unlock(&lock);
}

/* Free the set; the packets that drivers still have are theirs. NULL is none. */
void pg_packet_set_free(struct packet_set *set)
{
  if (!set)
    return;
  for (int32_t i = 0; i < set->n; i++)
    rte_pktmbuf_free((struct rte_mbuf *)set->packets[i]);
  for (int i = 0; i < PACKET_SET_CLASSES; i++)
    if (set->pools[i])
      retire(set->pools[i]);
  reap();
  free(set->packets);
  free(set);
}

static bool make_pools(struct packet_set *set, const uint32_t *counts)
{
  static atomic_uint number;
  for (int i = 0; i < PACKET_SET_CLASSES; i++) {
    char name[RTE_MEMPOOL_NAMESIZE];
    if (counts[i] == 0)
      continue;
    snprintf(name, sizeof name, "set_%u", number++);
    set->pools[i] = rte_pktmbuf_pool_create(name, counts[i], 0, PACKET_NOTES, room_of(i),
                                            pg_numa_memory(pg_numa_here()));
    if (!set->pools[i])
      return false;
  }
  /* DPDK panics when it has no memory for a port. */
  void *reserve = rte_malloc("reserve", RESERVE, 0);
  rte_free(reserve);
  return reserve;
}

/* A set with room for so many packets of each class (pg_packet_set_class), at least
 * one; NULL and pg_error() if there is no memory for it. */
struct packet_set *pg_packet_set_new(const uint32_t *counts)
{
  struct packet_set *set = calloc(1, sizeof *set);
  uint64_t n = 0;
  for (int i = 0; i < PACKET_SET_CLASSES; i++)
    n += counts[i];
  atomic_store(&pg_other_packets, true);
  reap();
  if (set && n > 0 && n <= MOST_PACKETS) {
    set->room = n;
    set->slots = (FEWEST_SLOTS + n - 1) / n * n;
    set->shortest = PACKET_MAX_PAYLOAD;
    set->packets = calloc(set->slots + 2 * CHUNK, sizeof *set->packets);
    if (set->packets && make_pools(set, counts))
      return set;
  }
  pg_packet_set_free(set);
  pg_fail("no memory for %lu more packets", (unsigned long)n);
  return NULL;
}

/* Put the bytes of a packet behind the set's last; false if there is no room for it. */
bool pg_packet_set_add(struct packet_set *set, const void *data, uint32_t length)
{
  struct rte_mempool *pool =
    length > PACKET_MAX_PAYLOAD ? NULL : set->pools[pg_packet_set_class(length)];
  struct rte_mbuf *m = pool && set->n < set->room ? rte_pktmbuf_alloc(pool) : NULL;
  if (!m)
    return false;
  m->data_off = 0;
  m->data_len = m->pkt_len = length;
  memcpy(rte_pktmbuf_mtod(m, void *), data, length);
  set->packets[set->n++] = (struct packet *)m;
  set->shortest = RTE_MIN(set->shortest, length);
  set->longest = RTE_MAX(set->longest, length);
  return true;
}

/* All have been added: false if they aren't as many as there is room for. The list
 * goes on with the first, so that a chunk needn't end where the set does. */
bool pg_packet_set_close(struct packet_set *set)
{
  if (set->n < set->room)
    return false;
  for (int32_t i = set->n; i < set->slots + 2 * CHUNK; i++)
    set->packets[i] = set->packets[i - set->n];
  return true;
}

/* Both cache lines of an mbuf. */
static inline void prefetch(const struct packet *p)
{
  rte_prefetch0(p);
  rte_prefetch0((const char *)p + RTE_CACHE_LINE_SIZE);
}

/* One more that uses each of `n` packets, and how many bytes they have; false, and none,
 * if one has too many. */
static bool share(struct packet **from, struct rte_mbuf **packets, uint16_t n,
                  uint64_t *bytes)
{
  uint16_t most = 0;
  uint32_t sum = 0;
  for (uint16_t i = 0; i < n; i++) {
    struct rte_mbuf *m = (struct rte_mbuf *)from[i];
    prefetch(from[i + CHUNK]);
    packets[i] = m;
    sum += m->data_len;
    most = RTE_MAX(most, rte_mbuf_refcnt_update(m, 1));
  }
  *bytes = sum;
  for (uint16_t i = 0; unlikely(most > MOST_SHARED) && i < n; i++)
    rte_mbuf_refcnt_update(packets[i], -1);
  return most <= MOST_SHARED;
}

/* Can the port send all packets of the set, all as long as Ethernet's are at least? Then
 * there is nothing to be looked at before they are sent. */
static bool is_plain(const struct port *port, const struct packet_set *set)
{
  return set->shortest >= SHORTEST_FRAME && set->longest <= port->max_frame;
}

/* Send the next `n` packets, up to CHUNK, of which the port drops none or all; how many
 * are done with. */
static uint16_t send_chunk(struct port *port, struct link *link, struct packet_set *set,
                           struct replay *r, uint16_t n)
{
  struct rte_mbuf *packets[CHUNK];
  struct sums sums = {.packets = n}, left = {0};
  if (!share(set->packets + r->at, packets, n, &sums.bytes))
    return 0;
  sums.bits = 8 * (sums.bytes + (uint64_t)WIRE_OVERHEAD * n);
  uint16_t kept = is_plain(port, set) ? n : pg_prepare(port, packets, n, &sums);
  uint16_t taken = kept > 0 ? port_send(port, packets, kept) : 0;
  if (taken < kept)
    left = pg_sum(packets + taken, kept - taken);
  for (uint16_t i = taken; i < kept; i++)
    rte_mbuf_refcnt_update(packets[i], -1);
  uint16_t done = n - left.packets;
  uint64_t bytes = sums.bytes - left.bytes, bits = sums.bits - left.bits;
  passed(link, done);
  link->rxbytes += bytes + sums.dropped_bytes;
  port->txpackets += taken;
  port->txbytes += bytes;
  port->account->refilled += done; /* as if they had been allocated for this */
  port->account->sent += taken;
  port->account->sentbytes += bytes;
  port->account->sentbits += bits;
  r->packets += done;
  r->bytes += bytes + sums.dropped_bytes;
  r->bits += bits;
  r->at += done;
  if (r->at >= set->slots)
    r->at -= set->slots;
  return done;
}

static int send_set(struct port *port, struct link *link, struct packet_set *set,
                    struct replay *r, int max)
{
  bool fits = set->shortest >= port->min_frame && set->longest <= port->max_frame;
  int chunk = fits ? CHUNK : 1, done = 0;
  if (unlikely(waiting(link) > 0)) {
    pg_transmit(port, link);
    if (waiting(link) > 0)
      return 0;
  }
  while (done < max) {
    uint16_t n = RTE_MIN(chunk, max - done);
    uint16_t gone = send_chunk(port, link, set, r, n);
    done += gone;
    if (gone < n)
      break;
  }
  return done;
}

/* Send up to `max` packets of the set from r->at on by the port that the link leads to,
 * after those that wait in the link; how many are done with, fewer if the port takes no
 * more. Those that the port never takes (too short, too long) are among them, counted
 * as its drops. The link only counts. */
int pg_packet_set_send(struct port *port, struct link *link, struct packet_set *set,
                       struct replay *r, int max)
{
  struct cycles *c = sample_of(port->account);
  if (likely(!c))
    return send_set(port, link, set, r, max);
  uint64_t began = rte_rdtsc();
  int n = send_set(port, link, set, r, max);
  spent_on_ports(c, &c->send, began);
  return n;
}
