/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/lua/mix.lua in C: one loop over each burst that checks, tells apart and
 * marks; what is dropped is freed and counted by reason.
 *
 *   mix RX-DEVARGS BURST SECONDS EAL-ARGUMENTS...
 *
 * Prints one line: packets received, CPU seconds, TSC Hz.
 */
#include "common.h"

enum { HEADERS = 34, MAX_BURST = 512, OUTPUTS = 3 };

struct sorted {
  struct rte_mbuf *packets[OUTPUTS][MAX_BURST];
  uint16_t n[OUTPUTS];
  uint64_t short_ones, not_ipv4, bad_version;
};

static void drop(struct rte_mbuf *m, uint64_t *reason)
{
  (*reason)++;
  rte_pktmbuf_free(m);
}

static void sort(struct sorted *s, struct rte_mbuf *m)
{
  static const uint8_t marks[OUTPUTS] = {8, 16, 24};
  uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *);
  if (m->data_len < HEADERS) {
    drop(m, &s->short_ones);
  } else if (data[12] != 8 || data[13] != 0) {
    drop(m, &s->not_ipv4);
  } else if (data[14] != 0x45) {
    drop(m, &s->bad_version);
  } else {
    int out = data[23] == 6 ? 0 : data[23] == 17 ? 1 : 2;
    data[15] = marks[out];
    s->packets[out][s->n[out]++] = m;
  }
}

int main(int argc, char **argv)
{
  static struct sorted s;
  struct rte_mbuf *packets[MAX_BURST];
  check(argc > 4, "usage: mix RX-DEVARGS BURST SECONDS EAL-ARGUMENTS...; reading it");
  int burst = atoi(argv[2]);
  double seconds = atof(argv[3]);
  check(burst > 0 && burst <= MAX_BURST && seconds > 0, "reading the arguments");
  check(rte_eal_init(argc - 3, argv + 3) >= 0, "starting EAL");
  struct rte_mempool *pool = make_pool();
  uint16_t source = open_port(argv[1], pool);
  uint16_t to[OUTPUTS] = {open_port("net_null_a,copy=0", pool),
                          open_port("net_null_b,copy=0", pool),
                          open_port("net_null_c,copy=0", pool)};
  uint64_t received = 0;
  double start = cpu_seconds(), now = start;
  while ((now = cpu_seconds()) - start < seconds)
    for (int round = 0; round < 1000; round++) {
      uint16_t n = rte_eth_rx_burst(source, 0, packets, burst);
      received += n;
      for (uint16_t i = 0; i < n; i++)
        sort(&s, packets[i]);
      for (int out = 0; out < OUTPUTS; out++) {
        rte_eth_tx_burst(to[out], 0, s.packets[out], s.n[out]);
        s.n[out] = 0;
      }
    }
  print_result(received, now - start);
  return 0;
}
