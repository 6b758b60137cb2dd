/* SPDX-License-Identifier: Apache-2.0
 *
 * How long packets take through a graph at a rate, for bench/suite/latency.py:
 *
 *   latency RATE SWING APPS BURST SECONDS EAL-ARGUMENTS...
 *
 * A port of which nothing comes is given packets at RATE a second (0: as many as are taken),
 * each with the time at which it was due, however late it is taken: what waits for the
 * program counts. They pass APPS functions, called by pointer for each burst, each of which
 * swaps the packets' Ethernet addresses, and the time from when each was due until it is
 * sent is counted. With SWING above 0 the rate goes up and down by that share of it every
 * 10 ms. bench/lua/latency.lua loads this as a library and watches a port of Perigee's in
 * the same way. Prints one line: packets, CPU seconds, TSC Hz, then the nanoseconds that
 * half of the packets, 99, 99.9 and 99.99 % of them took at most, and the longest.
 */
#include <rte_ether.h>

#include "common.h"

enum {
  STAMP = 48,        /* where in a packet its time is, behind what apps look at */
  LENGTH = 60,
  FINE_BITS = 5,     /* 32 buckets for each power of two: 3 % */
  BUCKETS = 64 << FINE_BITS,
  SWING_MS = 10,
  MAX_BURST = 512
};

struct latency {
  struct rte_mempool *pool;
  double gap;                     /* cycles from packet to packet; 0: no rate */
  double gaps[2];                 /* below and above the rate */
  double due, turn;               /* of the next packet; of the next change of the rate */
  uint64_t phase, packets, longest;
  uint64_t buckets[BUCKETS];
};

static unsigned bucket_of(uint64_t cycles)
{
  if (cycles < 1u << FINE_BITS)
    return cycles;
  unsigned shift = 63 - __builtin_clzll(cycles) - FINE_BITS;
  return (shift << FINE_BITS) + (unsigned)(cycles >> shift);
}

/* The most that falls into the bucket. */
static uint64_t most_in(unsigned bucket)
{
  if (bucket < 2u << FINE_BITS)
    return bucket;
  unsigned shift = (bucket >> FINE_BITS) - 1;
  return (((uint64_t)(bucket - (shift << FINE_BITS)) + 1) << shift) - 1;
}

static uint16_t how_many_are_due(const struct latency *l, double now, uint16_t most)
{
  if (l->gap == 0)
    return most;
  double waiting = now < l->due ? 0 : (now - l->due) / l->gap + 1;
  return waiting < most ? (uint16_t)waiting : most;
}

static void stamp(struct latency *l, struct rte_mbuf *m, double now)
{
  m->data_len = m->pkt_len = LENGTH;
  *rte_pktmbuf_mtod_offset(m, uint64_t *, STAMP) = (uint64_t)(l->gap == 0 ? now : l->due);
  l->due += l->gap;
}

static void swing(struct latency *l, double now)
{
  if (l->gap == 0 || l->gaps[0] == l->gaps[1] || now < l->turn)
    return;
  l->phase ^= 1;
  l->gap = l->gaps[l->phase];
  l->turn = now + SWING_MS * 1e-3 * rte_get_tsc_hz();
}

static uint16_t come(uint16_t port, uint16_t queue, struct rte_mbuf *packets[], uint16_t n,
                     uint16_t most, void *arg)
{
  struct latency *l = arg;
  double now = rte_rdtsc();
  uint16_t more = how_many_are_due(l, now, most - n);
  (void)port, (void)queue;
  if (more == 0 || rte_pktmbuf_alloc_bulk(l->pool, packets + n, more) != 0)
    return n;
  for (uint16_t i = 0; i < more; i++)
    stamp(l, packets[n + i], now);
  swing(l, now);
  return n + more;
}

static uint16_t go(uint16_t port, uint16_t queue, struct rte_mbuf *packets[], uint16_t n,
                   void *arg)
{
  struct latency *l = arg;
  uint64_t now = rte_rdtsc();
  (void)port, (void)queue;
  for (uint16_t i = 0; i < n; i++) {
    uint64_t took = now - *rte_pktmbuf_mtod_offset(packets[i], uint64_t *, STAMP);
    l->buckets[bucket_of(took)]++;
    l->longest = took > l->longest ? took : l->longest;
  }
  l->packets += n;
  return n;
}

/* From now on `rate` packets a second come. */
void latency_begin(struct latency *l, double rate, double share)
{
  double gap = rate > 0 ? rte_get_tsc_hz() / rate : 0;
  struct rte_mempool *pool = l->pool;
  memset(l, 0, sizeof *l);
  l->pool = pool;
  l->gaps[0] = gap / (1 + share);
  l->gaps[1] = gap / (1 - share);
  l->gap = l->gaps[0];
  l->due = l->turn = rte_rdtsc();
}

/* Packets of the pool that this one is of come to the port, and are looked at as they
 * leave; NULL if that can't be. */
struct latency *latency_watch(uint16_t port, const struct rte_mbuf *example, double rate,
                              double share)
{
  struct latency *l = calloc(1, sizeof *l);
  if (!l)
    return NULL;
  l->pool = example->pool;
  latency_begin(l, rate, share);
  return rte_eth_add_rx_callback(port, 0, come, l) && rte_eth_add_tx_callback(port, 0, go, l)
    ? l : NULL;
}

static uint64_t share_took(const struct latency *l, double share)
{
  uint64_t seen = 0;
  for (unsigned i = 0; i < BUCKETS; i++)
    if ((seen += l->buckets[i]) >= share * l->packets)
      return most_in(i);
  return l->longest;
}

void latency_print(const struct latency *l, double seconds)
{
  static const double shares[] = {0.5, 0.99, 0.999, 0.9999};
  double ns = 1e9 / rte_get_tsc_hz();
  printf("%lu %.6f %lu", (unsigned long)l->packets, seconds,
         (unsigned long)rte_get_tsc_hz());
  for (unsigned i = 0; i < RTE_DIM(shares); i++)
    printf(" %.0f", share_took(l, shares[i]) * ns);
  printf(" %.0f\n", l->longest * ns);
  fflush(stdout);
}

static uint16_t swap(struct rte_mbuf **packets, uint16_t n)
{
  for (uint16_t i = 0; i < n; i++) {
    struct rte_ether_hdr *h = rte_pktmbuf_mtod(packets[i], void *);
    struct rte_ether_addr to = h->dst_addr;
    h->dst_addr = h->src_addr;
    h->src_addr = to;
  }
  return n;
}

static void run(uint16_t port, int n, uint16_t burst, double seconds)
{
  uint16_t (*volatile app)(struct rte_mbuf **, uint16_t) = swap;
  uint64_t end = rte_rdtsc() + seconds * rte_get_tsc_hz();
  while (rte_rdtsc() < end) {
    struct rte_mbuf *packets[MAX_BURST];
    uint16_t got = rte_eth_rx_burst(port, 0, packets, burst);
    for (int i = 0; i < n && got > 0; i++)
      got = app(packets, got);
    if (got > 0)
      rte_eth_tx_burst(port, 0, packets, got);
  }
}

int main(int argc, char **argv)
{
  check(argc > 6, "usage: latency RATE SWING APPS BURST SECONDS EAL-ARGUMENTS...; reading it");
  double rate = atof(argv[1]), share = atof(argv[2]), seconds = atof(argv[5]);
  int n = atoi(argv[3]), burst = atoi(argv[4]);
  check(rate >= 0 && share >= 0 && share < 1 && n >= 0 && burst > 0 && burst <= MAX_BURST
        && seconds > 0, "reading the arguments");
  check(rte_eal_init(argc - 5, argv + 5) >= 0, "starting EAL");
  struct rte_mempool *pool = make_pool();
  uint16_t port = open_port("net_null_pg0,size=60,no-rx=1", pool);
  struct rte_mbuf *example = rte_pktmbuf_alloc(pool);
  struct latency *l = latency_watch(port, example, rate, share);
  check(l, "watching the port");
  rte_pktmbuf_free(example);
  run(port, n, burst, 0.2);
  latency_begin(l, rate, share);
  double start = cpu_seconds();
  run(port, n, burst, seconds);
  latency_print(l, cpu_seconds() - start);
  return 0;
}
