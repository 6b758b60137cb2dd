/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference of ports that share memory: packets go round between two devices of
 * DPDK's, such as net_vhost and net_virtio_user, each received and sent back.
 *
 *   pair SERVER CLIENT SOCKET SECONDS EAL-ARGUMENTS...
 *
 * SERVER and CLIENT are devices ("net_memif_pg0,role=server,socket=/tmp/m").
 *
 * Prints one line: packets, CPU seconds, TSC Hz.
 */
#include <unistd.h>

#include "common.h"

enum { ROUND = 192, BURST = 256, SIZE = 60, TURNS = 1024 };

struct end {
  uint16_t port, n;
  struct rte_mbuf *packets[BURST];
};

static void receive(struct end *e)
{
  e->n = rte_eth_rx_burst(e->port, 0, e->packets, BURST);
}

static void send_all(struct end *e)
{
  for (uint16_t sent = 0; sent < e->n;)
    sent += rte_eth_tx_burst(e->port, 0, e->packets + sent, e->n - sent);
}

/* As an engine breathes: both ends receive, then both send. */

static uint64_t run(uint16_t host_port, uint16_t guest_port, double seconds)
{
  struct end host = {.port = host_port}, guest = {.port = guest_port};
  uint64_t packets = 0;
  for (double ends = cpu_seconds() + seconds; cpu_seconds() < ends;)
    for (int i = 0; i < TURNS; i++) {
      receive(&host);
      receive(&guest);
      packets += host.n;
      send_all(&host);
      send_all(&guest);
    }
  return packets;
}

static void seed(uint16_t guest, struct rte_mempool *pool)
{
  for (int i = 0, sent; i < ROUND; i += sent) {
    struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
    check(m && rte_pktmbuf_append(m, SIZE), "a packet");
    sent = rte_eth_tx_burst(guest, 0, &m, 1);
    if (sent == 0)
      rte_pktmbuf_free(m);
  }
}

int main(int argc, char **argv)
{
  check(argc > 5, "arguments");
  const char *host = argv[1], *guest = argv[2], *path = argv[3];
  double seconds = atof(argv[4]);
  argv[4] = argv[0];
  check(rte_eal_init(argc - 4, argv + 4) >= 0, "EAL");
  struct rte_mempool *pool = make_pool();
  uint16_t host_port = open_port(host, pool), guest_port = open_port(guest, pool);
  seed(guest_port, pool);
  run(host_port, guest_port, 0.3);
  double before = cpu_seconds();
  uint64_t packets = run(host_port, guest_port, seconds);
  print_result(packets, cpu_seconds() - before);
  unlink(path);
  return 0;
}
