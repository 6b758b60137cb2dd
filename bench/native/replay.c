/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/lua/replay.lua in C: the packets of a capture file are kept as mbufs, in a pool
 * whose buffers are as large as the longest, and sent over and over by a null port:
 *
 *   replay FILE SECONDS EAL-ARGUMENTS...
 *
 * Each burst's reference counts are raised before it is sent, and the next one's mbufs
 * prefetched. Prints one line: packets, CPU seconds, TSC Hz.
 */
#include <rte_prefetch.h>

#include "common.h"

enum { BURST = 64, FILE_HEADER = 24, RECORD_HEADER = 16, MOST = 1 << 20 };

static struct rte_mbuf *packets[MOST + 2 * BURST];

/* The packet lengths of the file, or its packets into `pool`; how many. */
static uint32_t read_file(const char *path, struct rte_mempool *pool, uint32_t *longest)
{
  uint32_t record[4], n = 0;
  static char data[PACKET_MAX_PAYLOAD];
  FILE *file = fopen(path, "rb");
  check(file && fseek(file, FILE_HEADER, SEEK_SET) == 0, path);
  for (; fread(record, RECORD_HEADER, 1, file) == 1; n++) {
    uint32_t length = record[2];
    check(n < MOST && length <= sizeof data && fread(data, length, 1, file) == 1, path);
    *longest = RTE_MAX(*longest, length);
    if (!pool)
      continue;
    struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
    check(m, "packets");
    memcpy(rte_pktmbuf_mtod(m, char *), data, length);
    m->data_len = m->pkt_len = length;
    packets[n] = m;
  }
  fclose(file);
  return n;
}

static uint32_t load(const char *path)
{
  uint32_t longest = 0, n = read_file(path, NULL, &longest);
  struct rte_mempool *pool = rte_pktmbuf_pool_create(
    "packets", n, 0, 0, RTE_PKTMBUF_HEADROOM + longest, SOCKET_ID_ANY);
  check(pool, "the packets' pool");
  read_file(path, pool, &longest);
  for (uint32_t i = 0; i < BURST; i++)
    packets[n + i] = packets[i % n];
  return n;
}

static uint16_t send_burst(uint16_t port, struct rte_mbuf **from, uint16_t n)
{
  for (uint16_t i = 0; i < n; i++) {
    rte_prefetch0(from[i + n]);
    rte_prefetch0((char *)from[i + n] + RTE_CACHE_LINE_SIZE);
    rte_mbuf_refcnt_update(from[i], 1);
  }
  return rte_eth_tx_burst(port, 0, from, n);
}

int main(int argc, char **argv)
{
  check(argc > 3, "usage: replay FILE SECONDS EAL-ARGUMENTS...; that");
  double seconds = atof(argv[2]);
  check(rte_eal_init(argc - 2, argv + 2) >= 0, "starting EAL");
  uint16_t port = open_port("net_null_pg0,size=60,copy=0", make_pool());
  uint32_t n = load(argv[1]), at = 0;
  uint64_t count = 0;
  check(n >= BURST && n % BURST == 0, "a file of whole bursts");
  double start = cpu_seconds(), now = start;
  while ((now = cpu_seconds()) - start < seconds)
    for (int round = 0; round < 1000; round++) {
      count += send_burst(port, packets + at, BURST);
      at = (at + BURST) % n;
    }
  print_result(count, now - start);
  return 0;
}
