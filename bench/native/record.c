/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/lua/record.lua in C: packets of a burst are copied into a ring of 256 MiB as
 * blocks of pcapng, the newest over the oldest.
 *
 *   record SIZE SECONDS BURST FLOWS METERED EAL-ARGUMENTS...
 *
 * FLOWS: 0, or UDP headers of so many flows are written into the packets, one at random
 * each. METERED: 1, then flows are accounted in an rte_hash, a burst looked up at once, its
 * records asked for together; none ends. Prints one line: packets, CPU seconds, TSC Hz.
 */
#include <sys/mman.h>

#include <netinet/in.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>

#include "common.h"
#include "../../src/net/wire/wire.h"

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

/* Flows --------------------------------------------------------------------------- */

enum { FLOWS_MOST = 1 << 17, AT_ONCE = RTE_HASH_LOOKUP_BULK_MAX, SOURCE = 28 };

struct key {
  uint8_t source[16], destination[16];
  uint16_t source_port, destination_port;
  uint8_t protocol, version;
  uint16_t vlan, inner_vlan;
  uint8_t input, unused[5];
};
struct counts {
  uint64_t first, last, packets, octets, expiry;
  uint8_t flags;
};

static struct rte_hash *hash;
static struct counts *records;
static uint64_t others;

static void make_table(void)
{
  struct rte_hash_parameters p = {
    .name = "flows", .entries = FLOWS_MOST + FLOWS_MOST / 8, .key_len = sizeof(struct key),
    .hash_func = rte_hash_crc, .socket_id = SOCKET_ID_ANY};
  hash = rte_hash_create(&p);
  check(hash, "rte_hash_create");
  size_t bytes = (size_t)p.entries * sizeof *records;
  records = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(records != MAP_FAILED, "records");
  madvise(records, bytes, MADV_HUGEPAGE);
  memset(records, 0, bytes);
}

static void write_header(uint8_t *data, uint64_t flows)
{
  static const uint8_t header[] =
    "\2\0\0\0\0\1\2\0\0\0\0\2\10\0" "\105\0\0\56\0\0\0\0\100\21\0\0"
    "\12\0\0\1\12\0\0\2" "\4\0\0\65\0\32\0";
  uint32_t flow = (uint32_t)((roll() >> 33) % flows);
  memcpy(data, header, sizeof header);
  data[SOURCE] = (uint8_t)flow;
  data[SOURCE + 1] = (uint8_t)(flow >> 8);
  data[SOURCE + 2] = (uint8_t)(flow >> 16);
}

/* Extension headers are left out: none come. */
static bool read_key(const uint8_t *data, uint32_t n, struct key *key, uint8_t *flags,
                     uint32_t *octets)
{
  uint32_t at = ETHERNET_HEADER, type = get16(data + 12);
  *key = (struct key){0};
  while (is_vlan_type(type) && n >= at + VLAN_TAG) {
    *(at == ETHERNET_HEADER ? &key->vlan : &key->inner_vlan) = get16(data + at) & 0xfff;
    type = get16(data + at + 2);
    at += VLAN_TAG;
  }
  const uint8_t *ip = data + at;
  uint32_t l4, end;
  if (type == TYPE_IP4 && n >= at + IP4_HEADER) {
    l4 = at + (ip[0] & 15) * 4;
    end = at + get16(ip + IP4_LENGTH);
    memcpy(key->source, ip + IP4_ADDRESSES, 4);
    memcpy(key->destination, ip + IP4_ADDRESSES + 4, 4);
    key->protocol = ip[IP4_PROTOCOL];
    key->version = 4;
    if (get16(ip + IP4_FRAGMENT) & 0x1fff)
      end = l4;
  } else if (type == TYPE_IP6 && n >= at + IP6_HEADER) {
    l4 = at + IP6_HEADER;
    end = l4 + get16(ip + IP6_LENGTH);
    memcpy(key->source, ip + IP6_ADDRESSES, 32);
    key->protocol = ip[IP6_NEXT];
    key->version = 6;
  } else {
    return false;
  }
  end = end < n ? end : n;
  *octets = end - at;
  *flags = 0;
  if ((key->protocol == IPPROTO_UDP || key->protocol == IPPROTO_TCP) && end >= l4 + 4) {
    key->source_port = get16(data + l4);
    key->destination_port = get16(data + l4 + 2);
    if (key->protocol == IPPROTO_TCP && end > l4 + TCP_FLAGS)
      *flags = data[l4 + TCP_FLAGS];
  }
  return true;
}

static void count(struct counts *c, uint8_t flags, uint32_t octets, uint64_t now)
{
  if (c->packets == 0)
    c->first = now;
  c->last = now;
  c->packets++;
  c->octets += octets;
  c->flags |= flags;
  c->expiry = now + 3600ull * 1000000000;
}

static void meter(struct rte_mbuf **packets, uint32_t n, uint64_t now)
{
  struct key key[AT_ONCE];
  const void *at[AT_ONCE];
  int32_t found[AT_ONCE];
  uint32_t octets[AT_ONCE], keys = 0;
  uint8_t flags[AT_ONCE];
  for (uint32_t i = 0; i < n; i++) {
    at[keys] = &key[keys];
    if (read_key(rte_pktmbuf_mtod(packets[i], void *), packets[i]->data_len, &key[keys],
                 &flags[keys], &octets[keys]))
      keys++;
    else
      others++;
  }
  check(keys == 0 || rte_hash_lookup_bulk(hash, at, keys, found) == 0, "looking up");
  for (uint32_t i = 0; i < keys; i++) {
    if (found[i] < 0)
      found[i] = rte_hash_add_key(hash, &key[i]);
    check(found[i] >= 0, "adding a flow");
    __builtin_prefetch(&records[found[i]], 1);
  }
  for (uint32_t i = 0; i < keys; i++)
    count(&records[found[i]], flags[i], octets[i], now);
}

int main(int argc, char **argv)
{
  check(argc > 6, "record SIZE SECONDS BURST FLOWS METERED");
  uint32_t size = atoi(argv[1]), burst = atoi(argv[3]), flows = atoi(argv[4]);
  double seconds = atof(argv[2]);
  bool metered = atoi(argv[5]) == 1;
  check(burst > 0 && burst <= MOST, "burst");
  check(rte_eal_init(argc - 5, argv + 5) >= 0, "starting EAL");
  if (metered)
    make_table();
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
        if (flows > 0)
          write_header(rte_pktmbuf_mtod(packets[k], uint8_t *), flows);
      }
      for (uint32_t k = 0; metered && k < burst; k += AT_ONCE)
        meter(packets + k, RTE_MIN(burst - k, (uint32_t)AT_ONCE), now);
      for (uint32_t k = 0; k < burst; k++)
        keep(packets[k], now);
      rte_pktmbuf_free_bulk(packets, burst);
      count += burst;
    }
  } while (cpu_seconds() < ends);
  print_result(count, cpu_seconds() - cpu);
  return 0;
}
