/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/lua/lwaftr.lua in C: bursts from two ports, IPv4 packets into the tunnels of
 * their softwires, and those from tunnels out again, or on to another tunnel. What
 * needs more than that (ICMP, fragments, errors) is counted and freed.
 *
 *   lwaftr V4-DEVARGS V6-DEVARGS SOFTWIRES BURST SECONDS EAL-ARGUMENTS...
 *
 * SOFTWIRES: a file of struct softwire, one behind the other, sorted by address. Prints
 * one line: packets received, CPU seconds, TSC Hz.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_prefetch.h>

#include "../../src/apps/lwaftr/lwaftr.h"
#include "common.h"

enum { STAGE = 64, MAX_BURST = 512, AHEAD = 8, MTU4 = 1460, MTU6 = 1500, ETHERNET = 14,
       IP4 = 20, IP6 = 40, PORTS = 4, FRAGMENT = 0x3fff, HUGE = 2 << 20 };

struct address { uint32_t ipv4, first; uint8_t used, psid_length, shift, reserved; };

struct found { const struct softwire_ends *ends; bool managed; };

struct key { uint32_t ipv4; uint16_t port; };

static struct address *addresses;
static uint32_t lowest, highest; /* of the softwires' addresses */
static int hash_shift;
static struct softwire_ends *records;
static uint64_t left_over;
static const uint8_t macs4[14] = {2, 0x99, 0x99, 0x99, 0x99, 0x99, 2, 0xaa, 0xaa, 0xaa,
                                  0xaa, 0xaa, 8, 0};
static const uint8_t macs6[14] = {2, 0x99, 0x99, 0x99, 0x99, 0x99, 2, 0xaa, 0xaa, 0xaa,
                                  0xaa, 0xaa, 0x86, 0xdd};

/* The table --------------------------------------------------------------- */

static struct address *slot_of(uint32_t ipv4)
{
  return &addresses[ipv4 * 0x9e3779b97f4a7c15u >> hash_shift];
}

static struct address *find_address(uint32_t ipv4)
{
  struct address *a = slot_of(ipv4), *end = addresses + (1ull << (64 - hash_shift));
  while (a->used && a->ipv4 != ipv4)
    a = a + 1 == end ? addresses : a + 1;
  return a;
}

static void read_softwires(const char *path)
{
  FILE *file = fopen(path, "rb");
  check(file && fseek(file, 0, SEEK_END) == 0, "opening the softwires");
  size_t n = ftell(file) / sizeof(struct softwire), room = 0;
  struct softwire *list = malloc(n * sizeof *list);
  rewind(file);
  check(list && fread(list, sizeof *list, n, file) == n, "reading the softwires");
  fclose(file);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || list[i].ipv4 != list[i - 1].ipv4) {
      room += 1u << list[i].psid_length;
      hash_shift++;
    }
  hash_shift = 64 - (32 - __builtin_clz(2 * hash_shift - 1));
  size_t bytes = RTE_ALIGN(room * sizeof *records, (size_t)HUGE);
  addresses = calloc(1ull << (64 - hash_shift), sizeof *addresses);
  records = aligned_alloc(HUGE, bytes);
  check(addresses && records, "memory for the softwires");
  madvise(records, bytes, MADV_HUGEPAGE);
  memset(records, 0, bytes);
  lowest = list[0].ipv4;
  highest = list[n - 1].ipv4;
  uint32_t next = 0;
  for (size_t i = 0; i < n; i++) {
    const struct softwire *s = &list[i];
    struct address *a = find_address(s->ipv4);
    if (!a->used) {
      *a = (struct address){s->ipv4, next, 1, s->psid_length,
                            16 - s->psid_length - s->reserved, s->reserved};
      next += 1u << s->psid_length;
    }
    records[a->first + s->psid] = s->ends;
  }
  free(list);
}

static void find_all(const struct key *keys, int n, struct found *found)
{
  for (int i = 0; i < n; i++)
    rte_prefetch0(slot_of(keys[i].ipv4));
  for (int i = 0; i < n; i++) {
    const struct address *a = find_address(keys[i].ipv4);
    uint32_t psid = keys[i].port >> a->shift & ((1u << a->psid_length) - 1);
    bool good = a->used && (a->reserved == 0 || keys[i].port >= 1u << a->reserved);
    found[i].managed = a->used;
    found[i].ends = good ? &records[a->first + psid] : NULL;
    if (good)
      rte_prefetch0(found[i].ends);
  }
}

static bool is_there(const struct softwire_ends *ends)
{
  return ends && (ends->b4[0] | ends->b4[1]); /* all begin with fc00 or the like */
}

/* Packets ------------------------------------------------------------------ */

static void fetch(struct rte_mbuf **packets, int i, int n)
{
  if (i + AHEAD < n)
    rte_prefetch0(rte_pktmbuf_mtod(packets[i + AHEAD], void *));
}

static uint16_t read16(const void *p)
{
  return rte_be_to_cpu_16(*(const unaligned_uint16_t *)p);
}

/* Is it a sound IPv4 packet in `n` bytes, whole and not ICMP? The length of its
 * header. */
static uint32_t plain(const struct rte_ipv4_hdr *ip, uint32_t n)
{
  uint32_t header = (ip->version_ihl & 15) * 4, total = rte_be_to_cpu_16(ip->total_length);
  bool good = ip->version_ihl >> 4 == 4 && header >= IP4 && total >= header &&
    total <= n && n >= header + PORTS && ip->next_proto_id != 1 &&
    (rte_be_to_cpu_16(ip->fragment_offset) & FRAGMENT) == 0;
  return good ? header : 0;
}

static void write_tunnel(uint8_t *frame, struct rte_ipv4_hdr *ip, uint32_t n,
                         const struct softwire_ends *ends)
{
  struct rte_ipv6_hdr *ip6 = (void *)(frame + ETHERNET);
  uint32_t sum = (uint16_t)~ip->hdr_checksum + 0xffff - rte_cpu_to_be_16(0x0100);
  ip->time_to_live--;
  ip->hdr_checksum = ~((sum & 0xffff) + (sum >> 16)); /* RFC 1624, equation 3 */
  memcpy(frame, macs6, sizeof macs6);
  ip6->vtc_flow = rte_cpu_to_be_32(6u << 28 | (uint32_t)ip->type_of_service << 20);
  ip6->payload_len = rte_cpu_to_be_16(n);
  ip6->proto = 4;
  ip6->hop_limits = 255;
  /* Arrays, and in DPDK 24.11 structs. */
  memcpy(&ip6->src_addr, ends->br, 16);
  memcpy(&ip6->dst_addr, ends->b4, 16);
}

static void leave(struct rte_mbuf *m)
{
  left_over++;
  rte_pktmbuf_free(m);
}

static int encapsulate(struct rte_mbuf **packets, int n, struct rte_mbuf **to)
{
  struct rte_mbuf *wanted[STAGE];
  struct key keys[STAGE];
  struct found found[STAGE];
  int count = 0, sent = 0;
  for (int i = 0; i < n; i++) {
    struct rte_mbuf *m = packets[i];
    fetch(packets, i, n);
    const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
    const struct rte_ipv4_hdr *ip = (const void *)(frame + ETHERNET);
    uint32_t bytes = m->data_len - ETHERNET, header = 0;
    if (m->data_len >= ETHERNET + IP4 + PORTS && read16(frame + 12) == 0x0800)
      header = plain(ip, bytes);
    if (header == 0 || bytes + IP6 > MTU6 || ip->time_to_live < 2) {
      leave(m);
      continue;
    }
    keys[count] = (struct key){rte_be_to_cpu_32(ip->dst_addr),
                               read16((const uint8_t *)ip + header + 2)};
    wanted[count++] = m;
  }
  find_all(keys, count, found);
  for (int i = 0; i < count; i++) {
    struct rte_mbuf *m = wanted[i];
    if (!is_there(found[i].ends)) {
      leave(m);
      continue;
    }
    uint32_t bytes = m->data_len - ETHERNET;
    uint8_t *frame = (uint8_t *)rte_pktmbuf_prepend(m, IP6);
    write_tunnel(frame, (void *)(frame + ETHERNET + IP6), bytes, found[i].ends);
    to[sent++] = m;
  }
  return sent;
}

static int decapsulate(struct rte_mbuf **packets, int n, struct rte_mbuf **to4,
                       struct rte_mbuf **to6, int *sent6)
{
  struct rte_mbuf *wanted[STAGE];
  struct key keys[2 * STAGE], others[STAGE];
  struct found found[2 * STAGE + 1];
  int count = 0, sent = 0, looked_up;
  uint8_t at[STAGE];
  for (int i = 0; i < n; i++) {
    struct rte_mbuf *m = packets[i];
    fetch(packets, i, n);
    const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
    const struct rte_ipv6_hdr *ip6 = (const void *)(frame + ETHERNET);
    const struct rte_ipv4_hdr *ip = (const void *)(ip6 + 1);
    uint32_t bytes = m->data_len - ETHERNET - IP6, header = 0;
    if (m->data_len >= ETHERNET + IP6 + IP4 + PORTS && read16(frame + 12) == 0x86dd &&
        ip6->proto == 4 && rte_be_to_cpu_16(ip6->payload_len) <= bytes)
      header = plain(ip, bytes);
    if (header == 0 || bytes > MTU4) {
      leave(m);
      continue;
    }
    const uint8_t *ports = (const uint8_t *)ip + header;
    keys[count] = (struct key){rte_be_to_cpu_32(ip->src_addr), read16(ports)};
    others[count] = (struct key){rte_be_to_cpu_32(ip->dst_addr), read16(ports + 2)};
    wanted[count++] = m;
  }
  looked_up = count;
  for (int i = 0; i < count; i++) {
    bool may = (others[i].ipv4 >= lowest) & (others[i].ipv4 <= highest);
    keys[looked_up] = others[i];
    at[i] = may ? looked_up : 2 * STAGE;
    looked_up += may;
  }
  find_all(keys, looked_up, found);
  found[2 * STAGE].managed = false;
  for (int i = 0; i < count; i++) {
    struct rte_mbuf *m = wanted[i];
    const struct found *from = &found[i], *onto = &found[at[i]];
    uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
    struct rte_ipv4_hdr *ip = (void *)(frame + ETHERNET + IP6);
    if (!is_there(from->ends) || memcmp(frame + ETHERNET + 8, from->ends, 32) != 0 ||
        (onto->managed && (!is_there(onto->ends) || ip->time_to_live < 2))) {
      leave(m);
    } else if (onto->managed) {
      write_tunnel(frame, ip, m->data_len - ETHERNET - IP6, onto->ends);
      to6[(*sent6)++] = m;
    } else {
      memcpy(rte_pktmbuf_adj(m, IP6), macs4, sizeof macs4);
      to4[sent++] = m;
    }
  }
  return sent;
}

static void send_all(uint16_t port, struct rte_mbuf **packets, int n)
{
  if (n > 0)
    check(rte_eth_tx_burst(port, 0, packets, n) == n, "sending");
}

static uint64_t round_of(uint16_t v4, uint16_t v6, uint16_t burst)
{
  struct rte_mbuf *packets[MAX_BURST], *to4[MAX_BURST], *to6[MAX_BURST];
  int n = rte_eth_rx_burst(v4, 0, packets, burst), sent4 = 0, sent6 = 0;
  uint64_t received = n;
  for (int i = 0; i < n; i += STAGE)
    sent6 += encapsulate(packets + i, RTE_MIN(n - i, (int)STAGE), to6 + sent6);
  send_all(v6, to6, sent6);
  n = rte_eth_rx_burst(v6, 0, packets, burst);
  received += n;
  sent6 = 0;
  for (int i = 0; i < n; i += STAGE)
    sent4 += decapsulate(packets + i, RTE_MIN(n - i, (int)STAGE), to4 + sent4, to6,
                         &sent6);
  send_all(v4, to4, sent4);
  send_all(v6, to6, sent6);
  return received;
}

int main(int argc, char **argv)
{
  check(argc > 6, "usage: lwaftr V4-DEVARGS V6-DEVARGS SOFTWIRES BURST SECONDS "
                  "EAL-ARGUMENTS...; reading it");
  int burst = atoi(argv[4]);
  double seconds = atof(argv[5]);
  check(burst > 0 && burst <= MAX_BURST && seconds > 0, "reading the arguments");
  check(rte_eal_init(argc - 5, argv + 5) >= 0, "starting EAL");
  read_softwires(argv[3]);
  struct rte_mempool *pool = make_larger_pool(65536);
  uint16_t v4 = open_port(argv[1], pool), v6 = open_port(argv[2], pool);
  uint64_t packets = 0;
  for (int i = 0; i < 1000; i++)
    round_of(v4, v6, burst);
  left_over = 0;
  double start = cpu_seconds(), now = start;
  while ((now = cpu_seconds()) - start < seconds)
    for (int i = 0; i < 100; i++)
      packets += round_of(v4, v6, burst);
  check(left_over < packets / 20, "finding softwires");
  print_result(packets, now - start);
  return 0;
}
