/* SPDX-License-Identifier: Apache-2.0
 *
 * What bench/lua/moongen.lua's loops do, in C over DPDK.
 *
 *   moongen allocate|counters|forward|vxlan|udp RX-DEVARGS BURST SECONDS
 *           EAL-ARGUMENTS...
 *
 * Prints one line: packets sent, CPU seconds, TSC Hz.
 */
#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>
#include <rte_vxlan.h>

#include "common.h"

enum { MAX_BURST = 256, SIZE = 60, FLOWS = 1 << 16, BUFFERS = 2047, CACHE = 256,
       VNI = 1000, WARM_UP_BURSTS = 20000 };

struct headers {
  struct rte_ether_hdr eth;
  struct rte_ipv4_hdr ip;
  struct rte_udp_hdr udp;
} __rte_packed __rte_aligned(2);

struct tunnel {
  struct headers outer;
  struct rte_vxlan_hdr vxlan;
} __rte_packed __rte_aligned(2);

static struct rte_mempool *pool;
static uint16_t source, sink;
static int burst;

static struct headers udp_template(uint16_t bytes)
{
  struct headers h = {
    .eth.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4),
    .ip = {.version_ihl = 0x45, .time_to_live = 64, .next_proto_id = IPPROTO_UDP,
           .src_addr = RTE_BE32(RTE_IPV4(10, 0, 0, 1)),
           .dst_addr = RTE_BE32(RTE_IPV4(10, 1, 0, 10)),
           .total_length = rte_cpu_to_be_16(bytes - sizeof h.eth)},
    .udp = {.src_port = RTE_BE16(1024), .dst_port = RTE_BE16(1234)}};
  h.udp.dgram_len = rte_cpu_to_be_16(bytes - sizeof h.eth - sizeof h.ip);
  return h;
}

static void write_template(struct rte_mempool *mp, void *arg, void *object, unsigned i)
{
  struct rte_mbuf *m = object;
  struct tunnel t = {.outer = udp_template(SIZE),
                     .vxlan.vx_flags = RTE_BE32(0x08000000),
                     .vxlan.vx_vni = rte_cpu_to_be_32(VNI << 8)};
  (void)mp;
  (void)i;
  t.outer.udp.dst_port = *(int *)arg ? RTE_BE16(RTE_VXLAN_DEFAULT_PORT) : RTE_BE16(1234);
  memcpy((char *)m->buf_addr + RTE_PKTMBUF_HEADROOM, &t, sizeof t);
}

static void allocate(struct rte_mbuf **m, int n, uint16_t length)
{
  check(rte_pktmbuf_alloc_bulk(pool, m, n) == 0, "allocating");
  for (int i = 0; i < n; i++) {
    m[i]->pkt_len = length;
    m[i]->data_len = length;
  }
}

static void send_all(struct rte_mbuf **m, int n)
{
  for (int sent = 0; sent < n;)
    sent += rte_eth_tx_burst(sink, 0, m + sent, n - sent);
}

static int do_allocate(void)
{
  struct rte_mbuf *m[MAX_BURST];
  allocate(m, burst, SIZE);
  send_all(m, burst);
  return burst;
}

/* Counters look at the time for each burst, and at the device now and then. */
static int do_counters(void)
{
  static uint64_t next;
  static struct rte_eth_stats stats;
  int n = do_allocate();
  uint64_t now = rte_rdtsc();
  if (now >= next) {
    rte_eth_stats_get(sink, &stats);
    next = now + rte_get_tsc_hz();
  }
  return n;
}

static int do_forward(void)
{
  struct rte_mbuf *m[MAX_BURST];
  int n = rte_eth_rx_burst(source, 0, m, burst);
  send_all(m, n);
  return n;
}

static void fill_checksums(struct rte_mbuf *m)
{
  struct headers *h = rte_pktmbuf_mtod(m, struct headers *);
  h->ip.hdr_checksum = 0;
  h->ip.hdr_checksum = rte_ipv4_cksum(&h->ip);
  h->udp.dgram_cksum = 0;
  h->udp.dgram_cksum = rte_ipv4_udptcp_cksum(&h->ip, &h->udp);
}

static int do_vxlan(void)
{
  struct rte_mbuf *in[MAX_BURST], *out[MAX_BURST];
  int n = rte_eth_rx_burst(source, 0, in, burst);
  allocate(out, n, sizeof(struct tunnel));
  for (int i = 0; i < n; i++) {
    uint16_t size = in[i]->data_len, length = sizeof(struct tunnel) + size;
    struct tunnel *t = rte_pktmbuf_mtod(out[i], struct tunnel *);
    out[i]->data_len = out[i]->pkt_len = length;
    rte_memcpy(t + 1, rte_pktmbuf_mtod(in[i], void *), size);
    t->outer.ip.total_length = rte_cpu_to_be_16(length - 14);
    t->outer.udp.dgram_len = rte_cpu_to_be_16(length - 34);
    fill_checksums(out[i]);
  }
  send_all(out, n);
  rte_pktmbuf_free_bulk(in, n);
  return n;
}

/* As random as LuaJIT's math.random: L'Ecuyer's combined Tausworthe generator. */
static uint64_t random_bits(void)
{
  static uint64_t u[4] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb,
                          0xd6e8feb86659fd93};
  static const struct { int k, q, s; } t[] = {
    {63, 31, 18}, {58, 19, 28}, {55, 24, 7}, {47, 21, 8}};
  uint64_t r = 0;
  for (int i = 0; i < 4; i++) {
    uint64_t z = u[i];
    z = (((z << t[i].q) ^ z) >> (t[i].k - t[i].s)) ^
        ((z & ((uint64_t)-1 << (64 - t[i].k))) << t[i].s);
    r ^= z;
    u[i] = z;
  }
  return r;
}

static int do_udp(void)
{
  struct rte_mbuf *m[MAX_BURST];
  allocate(m, burst, SIZE);
  for (int i = 0; i < burst; i++) {
    struct headers *h = rte_pktmbuf_mtod(m[i], struct headers *);
    uint32_t address = RTE_IPV4(10, 0, 0, 1) + (random_bits() & (FLOWS - 1));
    h->ip.src_addr = rte_cpu_to_be_32(address);
  }
  for (int i = 0; i < burst; i++)
    fill_checksums(m[i]);
  send_all(m, burst);
  return burst;
}

static const struct { const char *name; int (*work)(void); } modes[] = {
  {"allocate", do_allocate}, {"counters", do_counters}, {"forward", do_forward},
  {"vxlan", do_vxlan}, {"udp", do_udp}};

int main(int argc, char **argv)
{
  check(argc > 5, "usage: moongen MODE RX-DEVARGS BURST SECONDS EAL-ARGUMENTS...; "
                  "reading it");
  int (*work)(void) = NULL;
  for (size_t i = 0; i < RTE_DIM(modes); i++)
    if (strcmp(argv[1], modes[i].name) == 0)
      work = modes[i].work;
  burst = atoi(argv[3]);
  double seconds = atof(argv[4]);
  check(work && burst > 0 && burst <= MAX_BURST && seconds > 0,
        "reading the arguments");
  check(rte_eal_init(argc - 4, argv + 4) >= 0, "starting EAL");
  pool = rte_pktmbuf_pool_create("scripts", BUFFERS, CACHE, 0, 2048 + RTE_PKTMBUF_HEADROOM,
                                 SOCKET_ID_ANY);
  check(pool, "the scripts' pool");
  int tunnels = work == do_vxlan;
  rte_mempool_obj_iter(pool, write_template, &tunnels);
  source = open_port(argv[2], make_pool());
  sink = open_port("net_null_out,copy=0", pool);
  for (int i = 0; i < WARM_UP_BURSTS; i++)
    work();
  uint64_t packets = 0;
  double start = cpu_seconds(), now = start;
  while ((now = cpu_seconds()) - start < seconds)
    for (int k = 0; k < 1000; k++)
      packets += work();
  print_result(packets, now - start);
  return 0;
}
