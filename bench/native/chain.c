/* SPDX-License-Identifier: Apache-2.0
 *
 * The references: what perigee's chain of apps costs when written in C.
 *
 *   chain PORT-DEVARGS HOPS BURST SECONDS EAL-ARGUMENTS...
 *
 * HOPS -1: rte_eth_rx_burst and rte_eth_tx_burst on one array, nothing else.
 * HOPS 0 and up: received into a link, passed through HOPS apps, each called
 * through a function pointer and moving packets one by one from its input ring
 * to its output ring, and sent from the last. Same links as perigee's, bytes
 * counted too. Prints one line: packets, CPU seconds, TSC Hz.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "../../src/native/api.h"

enum { MASK = LINK_RING_SIZE - 1, MAX_BURST = 512 };

struct app {
  void (*push)(struct app *);
  struct link *input, *output;
  uint64_t transmitted;
};

static struct packet *receive(struct link *l)
{
  uint64_t cursor = l->read;
  struct packet *p = l->packets[cursor & MASK];
  l->read = cursor + 1;
  l->rxbytes += p->length;
  return p;
}

static bool full(struct link *l, uint32_t cursor)
{
  l->limit = (uint32_t)l->read + LINK_MAX_PACKETS;
  return cursor == (uint32_t)l->limit;
}

static void transmit(struct link *l, struct packet *p)
{
  uint32_t cursor = l->write;
  if (cursor == (uint32_t)l->limit && full(l, cursor)) {
    l->txdrop++;
    rte_pktmbuf_free((struct rte_mbuf *)p);
    return;
  }
  l->packets[cursor & MASK] = p;
  l->write = cursor + 1;
}

static void forward(struct app *app)
{
  struct link *input = app->input, *output = app->output;
  uint32_t n = (uint32_t)input->write - (uint32_t)input->read;
  for (uint32_t i = 0; i < n; i++)
    transmit(output, receive(input));
  app->transmitted += n;
}

static double cpu_seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void check(bool good, const char *what)
{
  if (good)
    return;
  fprintf(stderr, "chain: %s failed\n", what);
  exit(1);
}

static uint16_t open_port(const char *devargs)
{
  struct rte_eth_conf conf = {0};
  struct rte_mempool *pool = rte_pktmbuf_pool_create(
    "pool", 8192, RTE_MEMPOOL_CACHE_MAX_SIZE, 0,
    PACKET_MAX_HEADROOM + PACKET_MAX_PAYLOAD, SOCKET_ID_ANY);
  check(pool, "the packet pool");
  check(rte_dev_probe(devargs) == 0, devargs);
  check(rte_eth_dev_configure(0, 1, 1, &conf) == 0, "configure");
  check(rte_eth_rx_queue_setup(0, 0, 1024, SOCKET_ID_ANY, NULL, pool) == 0,
        "rx queue");
  check(rte_eth_tx_queue_setup(0, 0, 1024, SOCKET_ID_ANY, NULL) == 0,
        "tx queue");
  check(rte_eth_dev_start(0) == 0, "start");
  return 0;
}

/* One round with no links; the packets moved. */
static uint64_t direct(uint16_t port, uint16_t burst)
{
  struct rte_mbuf *packets[MAX_BURST];
  uint16_t n = rte_eth_rx_burst(port, 0, packets, burst);
  return rte_eth_tx_burst(port, 0, packets, n);
}

static uint64_t through(uint16_t port, struct app *apps, int hops,
                        struct link *first, struct link *last, uint16_t burst)
{
  struct rte_mbuf *packets[MAX_BURST];
  uint16_t n = rte_eth_rx_burst(port, 0, packets, burst);
  for (uint16_t i = 0; i < n; i++)
    first->packets[((uint32_t)first->write + i) & MASK] =
      (struct packet *)packets[i];
  first->write = (uint32_t)first->write + n;
  first->limit = (uint32_t)first->read + LINK_MAX_PACKETS;
  for (int i = 0; i < hops; i++)
    apps[i].push(&apps[i]);
  n = (uint32_t)last->write - (uint32_t)last->read;
  for (uint16_t i = 0; i < n; i++) {
    struct rte_mbuf *m = (struct rte_mbuf *)
      last->packets[((uint32_t)last->read + i) & MASK];
    last->rxbytes += m->data_len;
    m->pkt_len = m->data_len;
    packets[i] = m;
  }
  last->read += n;
  return rte_eth_tx_burst(port, 0, packets, n);
}

int main(int argc, char **argv)
{
  check(argc > 5, "usage: chain DEVARGS HOPS BURST SECONDS EAL-ARGUMENTS...; "
                  "reading it");
  int hops = atoi(argv[2]);
  uint16_t burst = atoi(argv[3]);
  double seconds = atof(argv[4]);
  check(burst > 0 && burst <= MAX_BURST && seconds > 0, "reading the arguments");
  check(rte_eal_init(argc - 4, argv + 4) >= 0, "starting EAL");
  uint16_t port = open_port(argv[1]);
  int links = hops > 0 ? hops + 1 : 1;
  struct link *link = calloc(links, sizeof *link);
  struct app *apps = calloc(links, sizeof *apps);
  for (int i = 0; i < hops; i++)
    apps[i] = (struct app){forward, &link[i], &link[i + 1], 0};
  uint64_t packets = 0;
  double start = cpu_seconds(), now = start;
  while ((now = cpu_seconds()) - start < seconds)
    for (int i = 0; i < 1000; i++)
      packets += hops < 0 ? direct(port, burst)
                          : through(port, apps, hops, link, &link[links - 1],
                                    burst);
  printf("%lu %.6f %lu\n", (unsigned long)packets, now - start,
         (unsigned long)rte_get_tsc_hz());
  return 0;
}
