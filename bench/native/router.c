/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/lua/router.lua in C: for each burst a loop that checks headers, a bulk
 * lookup, and a loop that counts down the TTL and writes the next hop's addresses.
 *
 *   router RX-DEVARGS ROUTES BURST SECONDS EAL-ARGUMENTS...
 *
 * ROUTES: see bench/lua/router.lua. Prints one line: packets received, CPU
 * seconds, TSC Hz.
 */
#define ALLOW_EXPERIMENTAL_API /* rte_vect_set_max_simd_bitwidth */

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_fib.h>
#include <rte_ip.h>
#include <rte_vect.h>

#include "common.h"

enum { MAX_BURST = 512, HOPS = 16, LONG_PREFIXES = 1 << 15,
       ETHERNET = sizeof(struct rte_ether_hdr) };

struct route { uint32_t address, length, next_hop; };

struct hop { struct rte_ether_addr to, from; };

static struct hop hops[HOPS + 1];
static uint64_t bad_headers, no_route, ttl_expired;

static struct rte_fib *read_routes(const char *path)
{
  FILE *file = fopen(path, "rb");
  check(file && fseek(file, 0, SEEK_END) == 0, "opening the routes");
  size_t n = ftell(file) / sizeof(struct route);
  struct route *routes = malloc(n * sizeof *routes);
  rewind(file);
  check(routes && fread(routes, sizeof *routes, n, file) == n, "reading the routes");
  fclose(file);
  struct rte_fib_conf conf = {
    .type = RTE_FIB_DIR24_8, .default_nh = 0, .max_routes = n,
    .dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = LONG_PREFIXES}};
  rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_512);
  struct rte_fib *fib = rte_fib_create("router", SOCKET_ID_ANY, &conf);
  check(fib, "the routing table");
  rte_fib_select_lookup(fib, RTE_FIB_LOOKUP_DEFAULT);
  for (size_t i = 0; i < n; i++)
    check(rte_fib_add(fib, routes[i].address, routes[i].length,
                      routes[i].next_hop) == 0, "adding a route");
  free(routes);
  return fib;
}

static bool sound(const struct rte_mbuf *m)
{
  uint16_t length = m->data_len;
  if (length < ETHERNET + sizeof(struct rte_ipv4_hdr))
    return false;
  const struct rte_ether_hdr *e = rte_pktmbuf_mtod(m, const void *);
  const struct rte_ipv4_hdr *h = (const void *)(e + 1);
  uint16_t header = (h->version_ihl & 15) * 4;
  uint16_t total = rte_be_to_cpu_16(h->total_length);
  if (e->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) ||
      h->version_ihl >> 4 != 4 || header < sizeof *h || total < header ||
      total > length - ETHERNET)
    return false;
  return ip_sum_is_right(h, header);
}

static void send_on(struct rte_mbuf *m, uint64_t next_hop)
{
  struct rte_ether_hdr *e = rte_pktmbuf_mtod(m, void *);
  struct rte_ipv4_hdr *h = (void *)(e + 1);
  h->time_to_live--;
  /* RFC 1624, equation 3, in the byte order of the header */
  uint32_t sum = (uint16_t)~h->hdr_checksum + 0xffff - rte_cpu_to_be_16(0x0100);
  h->hdr_checksum = ~((sum & 0xffff) + (sum >> 16));
  e->dst_addr = hops[next_hop].to;
  e->src_addr = hops[next_hop].from;
}

static uint64_t round_of(uint16_t source, uint16_t sink, struct rte_fib *fib,
                         uint16_t burst)
{
  struct rte_mbuf *packets[MAX_BURST];
  uint32_t addresses[MAX_BURST];
  uint64_t next[MAX_BURST];
  uint16_t n = rte_eth_rx_burst(source, 0, packets, burst), good = 0, kept = 0;
  for (uint16_t i = 0; i < n; i++) {
    if (!sound(packets[i])) {
      bad_headers++;
      rte_pktmbuf_free(packets[i]);
      continue;
    }
    const struct rte_ipv4_hdr *h =
      rte_pktmbuf_mtod_offset(packets[i], const void *, ETHERNET);
    addresses[good] = rte_be_to_cpu_32(h->dst_addr);
    packets[good++] = packets[i];
  }
  rte_fib_lookup_bulk(fib, addresses, next, good);
  for (uint16_t i = 0; i < good; i++) {
    struct rte_mbuf *m = packets[i];
    const struct rte_ipv4_hdr *h = rte_pktmbuf_mtod_offset(m, const void *, ETHERNET);
    if (next[i] == 0 || next[i] > HOPS) {
      no_route++;
      rte_pktmbuf_free(m);
    } else if (h->time_to_live <= 1) {
      ttl_expired++;
      rte_pktmbuf_free(m);
    } else {
      send_on(m, next[i]);
      packets[kept++] = m;
    }
  }
  check(rte_eth_tx_burst(sink, 0, packets, kept) == kept, "sending");
  return n;
}

int main(int argc, char **argv)
{
  check(argc > 5, "usage: router RX-DEVARGS ROUTES BURST SECONDS "
                  "EAL-ARGUMENTS...; reading it");
  int burst = atoi(argv[3]);
  double seconds = atof(argv[4]);
  check(burst > 0 && burst <= MAX_BURST && seconds > 0, "reading the arguments");
  check(rte_eal_init(argc - 4, argv + 4) >= 0, "starting EAL");
  for (int i = 1; i <= HOPS; i++)
    hops[i] = (struct hop){{{2, 0, 0, 0, 1, i}}, {{2, 0, 0, 0, 2, i}}};
  struct rte_mempool *pool = make_pool();
  uint16_t source = open_port(argv[1], pool);
  uint16_t sink = open_port("net_null_out,copy=0", pool);
  struct rte_fib *fib = read_routes(argv[2]);
  uint64_t packets = 0;
  double start = cpu_seconds(), now = start;
  while ((now = cpu_seconds()) - start < seconds)
    for (int i = 0; i < 1000; i++)
      packets += round_of(source, sink, fib, burst);
  check(bad_headers + no_route + ttl_expired < packets / 100, "routing");
  print_result(packets, now - start);
  return 0;
}
