/* SPDX-License-Identifier: Apache-2.0
 *
 * The references: what perigee's chain of apps costs when written in C.
 *
 *   chain PORT-DEVARGS WHAT BURST SECONDS EAL-ARGUMENTS...
 *
 * WHAT is
 *   direct   rte_eth_rx_burst and rte_eth_tx_burst on one array, nothing else
 *   bridge   the same between two ports, both ways; PORT-DEVARGS are two, with + between
 *   calls:N  as direct, and N functions called by pointer for each burst, which pass it on
 *   swap:N   the same; each function swaps the packets' Ethernet addresses in a loop
 *   links:N  received into a link, passed through N apps, each called by pointer
 *            and moving packets one by one from its input ring to its output ring,
 *            and sent from the last; perigee's links, bytes counted too
 * BURST is a number, or "random": 0 to 64, another for each burst.
 * Prints one line: packets, CPU seconds, TSC Hz.
 */
#include <rte_ether.h>

#include "common.h"

enum { MASK = LINK_RING_SIZE - 1, MAX_BURST = 512, FACES = 4096 };

struct app {
  void (*push)(struct app *);
  uint16_t (*process)(struct app *, struct rte_mbuf **, uint16_t);
  struct link *input, *output;
  uint64_t transmitted;
};

struct run {
  uint16_t port, other; /* ports; `other` is the second of a bridge */
  int n;                /* apps */
  struct app *apps;
  struct link *links;   /* n + 1 */
  uint64_t (*round)(struct run *, uint16_t burst);
};

static bool full(struct link *l, uint32_t write)
{
  l->limit = (uint32_t)l->read + LINK_MAX_PACKETS;
  return write == (uint32_t)l->limit;
}

/* All packets that wait, one by one; the cursors and sums in registers. */
static void forward(struct app *app)
{
  struct link *input = app->input, *output = app->output;
  uint32_t read = input->read, write = output->write;
  uint32_t n = (uint32_t)input->write - read;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < n; i++) {
    struct packet *p = input->packets[read++ & MASK];
    bytes += p->length;
    if (write == (uint32_t)output->limit && full(output, write)) {
      output->txdrop++;
      rte_pktmbuf_free((struct rte_mbuf *)p);
      continue;
    }
    output->packets[write++ & MASK] = p;
  }
  input->read += n;
  input->rxbytes += bytes;
  output->write = write;
  app->transmitted += n;
}

/* Both return how many of the burst go on. */

static uint16_t pass(struct app *app, struct rte_mbuf **packets, uint16_t n)
{
  (void)app, (void)packets;
  return n;
}

static uint16_t swap(struct app *app, struct rte_mbuf **packets, uint16_t n)
{
  (void)app;
  for (uint16_t i = 0; i < n; i++) {
    if (packets[i]->data_len < sizeof(struct rte_ether_hdr))
      continue;
    struct rte_ether_hdr *h = rte_pktmbuf_mtod(packets[i], void *);
    struct rte_ether_addr to = h->dst_addr;
    h->dst_addr = h->src_addr;
    h->src_addr = to;
  }
  return n;
}

/* Each of these moves one burst; the packets it moved. */

static uint64_t direct(struct run *run, uint16_t burst)
{
  struct rte_mbuf *packets[MAX_BURST];
  uint16_t n = rte_eth_rx_burst(run->port, 0, packets, burst);
  return rte_eth_tx_burst(run->port, 0, packets, n);
}

static uint64_t pass_on(uint16_t from, uint16_t to, uint16_t burst)
{
  struct rte_mbuf *packets[MAX_BURST];
  uint16_t n = rte_eth_rx_burst(from, 0, packets, burst);
  return rte_eth_tx_burst(to, 0, packets, n);
}

static uint64_t bridge(struct run *run, uint16_t burst)
{
  return pass_on(run->port, run->other, burst) + pass_on(run->other, run->port, burst);
}

static uint64_t calls(struct run *run, uint16_t burst)
{
  struct rte_mbuf *packets[MAX_BURST];
  uint16_t n = rte_eth_rx_burst(run->port, 0, packets, burst);
  for (int k = 0; k < run->n; k++)
    n = run->apps[k].process(&run->apps[k], packets, n);
  return rte_eth_tx_burst(run->port, 0, packets, n);
}

static uint64_t through(struct run *run, uint16_t burst)
{
  struct rte_mbuf *packets[MAX_BURST];
  struct link *first = run->links, *last = run->links + run->n;
  uint16_t n = rte_eth_rx_burst(run->port, 0, packets, burst);
  for (uint16_t i = 0; i < n; i++)
    first->packets[((uint32_t)first->write + i) & MASK] =
      (struct packet *)packets[i];
  first->write = (uint32_t)first->write + n;
  first->limit = (uint32_t)first->read + LINK_MAX_PACKETS;
  for (int i = 0; i < run->n; i++)
    run->apps[i].push(&run->apps[i]);
  n = (uint32_t)last->write - (uint32_t)last->read;
  for (uint16_t i = 0; i < n; i++) {
    struct rte_mbuf *m = (struct rte_mbuf *)
      last->packets[((uint32_t)last->read + i) & MASK];
    last->rxbytes += m->data_len;
    m->pkt_len = m->data_len;
    packets[i] = m;
  }
  last->read += n;
  return rte_eth_tx_burst(run->port, 0, packets, n);
}

static struct run prepare(const char *what, uint16_t port, uint16_t other)
{
  static const struct {
    const char *name;
    uint64_t (*round)(struct run *, uint16_t);
    uint16_t (*process)(struct app *, struct rte_mbuf **, uint16_t);
  } kinds[] = {{"direct", direct, NULL}, {"bridge", bridge, NULL}, {"calls", calls, pass}, {"swap", calls, swap}, {"links", through, NULL}};
  const char *colon = strchr(what, ':');
  size_t length = colon ? (size_t)(colon - what) : strlen(what);
  struct run run = {.port = port, .other = other, .n = colon ? atoi(colon + 1) : 0};
  uint16_t (*process)(struct app *, struct rte_mbuf **, uint16_t) = NULL;
  for (unsigned k = 0; k < RTE_DIM(kinds); k++)
    if (strlen(kinds[k].name) == length && !strncmp(kinds[k].name, what, length))
      run.round = kinds[k].round, process = kinds[k].process;
  check(run.round && run.n >= 0, "reading WHAT");
  run.links = calloc(run.n + 1, sizeof *run.links);
  run.apps = calloc(run.n + 1, sizeof *run.apps);
  check(run.links && run.apps, "memory for the apps");
  for (int i = 0; i < run.n; i++)
    run.apps[i] = (struct app){forward, process, &run.links[i], &run.links[i + 1], 0};
  return run;
}

int main(int argc, char **argv)
{
  static uint16_t faces[FACES];
  check(argc > 5, "usage: chain DEVARGS WHAT BURST SECONDS EAL-ARGUMENTS...; "
                  "reading it");
  bool random_bursts = !strcmp(argv[3], "random");
  int burst = random_bursts ? 64 : atoi(argv[3]);
  double seconds = atof(argv[4]);
  check(burst > 0 && burst <= MAX_BURST && seconds > 0, "reading the arguments");
  srand(1);
  for (int i = 0; i < FACES; i++)
    faces[i] = random_bursts ? rand() % 65 : burst;
  check(rte_eal_init(argc - 4, argv + 4) >= 0, "starting EAL");
  char *second = strchr(argv[1], '+');
  if (second)
    *second++ = 0;
  struct rte_mempool *pool = make_pool();
  uint16_t port = open_port(argv[1], pool);
  struct run run = prepare(argv[2], port, second ? open_port(second, pool) : port);
  uint64_t packets = 0, at = 0;
  double start = cpu_seconds(), now = start;
  while ((now = cpu_seconds()) - start < seconds)
    for (int i = 0; i < 1000; i++)
      packets += run.round(&run, faces[at++ % FACES]);
  print_result(packets, now - start);
  return 0;
}
