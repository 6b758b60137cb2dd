/* SPDX-License-Identifier: Apache-2.0
 *
 * What bench/suite/click.py's configurations do, in C: what is looked up is looked up for
 * the whole burst; then each packet goes its way, one after the other.
 *
 *   click MODE RX-DEVARGS BURST SECONDS EAL-ARGUMENTS...
 *
 * MODE: mirror, router, firewall:RULES, classifier, nat, many-flows, balancer,
 * strings:A,B,... or tee.
 * Prints one line: packets received, CPU seconds, TSC Hz.
 */
#include "common.h"

#include "click/filters.h"
#include "click/flows.h"
#include "click/interfaces.h"
#include "click/router.h"
#include "click/strings.h"

static void do_mirror(struct rte_mbuf *m)
{
  struct rte_ether_hdr *e = rte_pktmbuf_mtod(m, void *);
  struct rte_ether_addr from = e->src_addr;
  e->src_addr = e->dst_addr;
  e->dst_addr = from;
  put(&outs[0], m);
}

static void do_tee(struct rte_mbuf *m)
{
  struct rte_mbuf *copy = rte_pktmbuf_alloc(pool);
  check(copy, "allocating a packet");
  memcpy(rte_pktmbuf_append(copy, m->data_len), rte_pktmbuf_mtod(m, const void *),
         m->data_len);
  put(&outs[1], copy);
  put(&outs[0], m);
}

/* `ahead` is done for the burst, `work` then for each packet of it. */
static const struct mode {
  const char *name;
  void (*work)(struct rte_mbuf *);
  void (*ahead)(struct rte_mbuf **, uint16_t);
} modes[] = {
  {"mirror", do_mirror, NULL}, {"router", do_router, NULL},
  {"firewall", do_firewall, judge}, {"classifier", do_classifier, NULL},
  {"nat", do_nat, find_flows}, {"many-flows", do_many_flows, find_many_flows},
  {"balancer", do_balancer, find_flows}, {"strings", do_strings, NULL},
  {"tee", do_tee, NULL}};

/* `more`: what follows the mode's name and a colon. */
static void prepare(void (*work)(struct rte_mbuf *), char *more)
{
  char devargs[32];
  make_flows(work == do_many_flows ? 2 * MANY_FLOWS : FLOWS - 1);
  if (work == do_many_flows)
    add_many_flows();
  for (int i = 0; i < HOPS; i++) {
    struct out *o = &outs[i];
    uint8_t header[ETHERNET] = {2, 0, 0, 0, 1, i + 1, 2, 0, 0, 0, 2, i + 1, 8, 0};
    snprintf(devargs, sizeof devargs, "net_null_out%d,copy=0", i);
    o->port = open_port(devargs, pool);
    o->address = NET(10, 0, i, 1);
    memcpy(o->header, header, sizeof header);
  }
  if (work == do_firewall)
    make_rules(more ? atoi(more) : 0);
  if (work == do_strings) {
    check(more, "reading the strings");
    look_for(more);
  }
}

int main(int argc, char **argv)
{
  check(argc > 5, "usage: click MODE RX-DEVARGS BURST SECONDS EAL-ARGUMENTS...; "
                  "reading it");
  struct mode mode = {0};
  char *more = strchr(argv[1], ':');
  if (more)
    *more++ = 0;
  for (size_t i = 0; i < RTE_DIM(modes); i++)
    if (strcmp(argv[1], modes[i].name) == 0)
      mode = modes[i];
  int burst = atoi(argv[3]);
  double seconds = atof(argv[4]);
  check(mode.name && burst > 0 && burst <= MAX_BURST && seconds > 0,
        "reading the arguments");
  check(rte_eal_init(argc - 4, argv + 4) >= 0, "starting EAL");
  pool = make_pool();
  uint16_t source = open_port(argv[2], pool);
  prepare(mode.work, more);
  uint64_t packets = 0;
  double start = cpu_seconds(), now = start;
  while ((now = cpu_seconds()) - start < seconds)
    for (int k = 0; k < 1000; k++) {
      struct rte_mbuf *burst_of[MAX_BURST];
      uint16_t n = rte_eth_rx_burst(source, 0, burst_of, burst);
      if (mode.ahead)
        mode.ahead(burst_of, n);
      for (uint16_t i = 0; i < n; i++)
        mode.work(burst_of[i]);
      for (int i = 0; i < HOPS; i++)
        flush(&outs[i]);
      packets += n;
    }
  print_result(packets, now - start);
  return 0;
}
