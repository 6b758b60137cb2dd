/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/lua/record.lua in C: packets of a burst are copied into a ring of 256 MiB as
 * blocks of pcapng, the newest over the oldest.
 *
 *   record SIZE SECONDS BURST EAL-ARGUMENTS...
 *
 * Prints one line: packets, CPU seconds, TSC Hz.
 */
#include <sys/mman.h>

#include "common.h"

enum { RING_BYTES = 1 << 28, MOST = 256, LINE = 64, AHEAD = 1024, TYPE = 6 };

struct block { uint32_t type, total, interface, time_high, time_low, captured, original; };

static uint8_t *ring;
static uint64_t head;

static uint64_t present(void)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Where packets were overwritten isn't kept: nobody reads them here. */
static void keep(const struct rte_mbuf *m, uint64_t now)
{
  uint32_t length = m->data_len, padded = (length + 3) & ~3u;
  uint32_t total = sizeof(struct block) + padded + 4;
  if (RING_BYTES - head < total)
    head = 0;
  uint8_t *at = ring + head;
  for (uint32_t i = 0; i < total; i += LINE)
    __builtin_prefetch(at + AHEAD + i, 1);
  struct block b = {TYPE, total, 0, now >> 32, (uint32_t)now, length, length};
  memcpy(at, &b, sizeof b);
  memcpy(at + sizeof b, rte_pktmbuf_mtod(m, void *), length);
  memcpy(at + total - 4, &total, 4);
  head += total;
}

int main(int argc, char **argv)
{
  check(argc > 4, "record SIZE SECONDS BURST");
  uint32_t size = atoi(argv[1]), burst = atoi(argv[3]);
  double seconds = atof(argv[2]);
  check(burst > 0 && burst <= MOST, "burst");
  check(rte_eal_init(argc - 3, argv + 3) >= 0, "starting EAL");
  struct rte_mempool *pool = make_pool();
  ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(ring != MAP_FAILED, "ring");
  madvise(ring, RING_BYTES, MADV_HUGEPAGE);
  memset(ring, 0, RING_BYTES);
  struct rte_mbuf *packets[MOST];
  uint64_t count = 0;
  double cpu = cpu_seconds(), ends = cpu + seconds;
  do {
    for (int i = 0; i < 1000; i++) {
      check(rte_pktmbuf_alloc_bulk(pool, packets, burst) == 0, "packets");
      uint64_t now = present();
      for (uint32_t k = 0; k < burst; k++) {
        packets[k]->data_len = packets[k]->pkt_len = size;
        keep(packets[k], now);
      }
      rte_pktmbuf_free_bulk(packets, burst);
      count += burst;
    }
  } while (cpu_seconds() < ends);
  print_result(count, cpu_seconds() - cpu);
  return 0;
}
