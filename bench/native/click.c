/* SPDX-License-Identifier: Apache-2.0
 *
 * What bench/suite/click.py's configurations do, in C: for each packet of a burst its
 * whole way, one after the other.
 *
 *   click MODE RX-DEVARGS BURST SECONDS EAL-ARGUMENTS...
 *
 * MODE: mirror, router, firewall:RULES, classifier, nat, balancer, strings:A,B,... or
 * tee.
 * Prints one line: packets received, CPU seconds, TSC Hz.
 */
#include <dlfcn.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "common.h"

enum { MAX_BURST = 512, HOPS = 4, MTU = 1500, MOST_RULES = 1000, FLOWS = 1 << 16,
       ETHERNET = sizeof(struct rte_ether_hdr), IPV4 = sizeof(struct rte_ipv4_hdr),
       ICMP = sizeof(struct rte_icmp_hdr), QUOTED = 576 - IPV4 - ICMP };

#define NET(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

static struct rte_mempool *pool;

/* An interface: what waits to be sent by it. */
static struct out {
  struct rte_mbuf *packets[2 * MAX_BURST];
  uint16_t n, port;
  uint32_t address;
  uint8_t header[ETHERNET];
} outs[HOPS];

static void flush(struct out *o)
{
  if (o->n > 0)
    check(rte_eth_tx_burst(o->port, 0, o->packets, o->n) == o->n, "sending");
  o->n = 0;
}

static void put(struct out *o, struct rte_mbuf *m)
{
  o->packets[o->n++] = m;
  if (o->n == 2 * MAX_BURST)
    flush(o);
}

static struct rte_ipv4_hdr *ip_of(struct rte_mbuf *m)
{
  return rte_pktmbuf_mtod_offset(m, void *, ETHERNET);
}

static uint16_t header_length(const struct rte_ipv4_hdr *h)
{
  return (h->version_ihl & 15) * 4;
}

static void set_checksum(struct rte_ipv4_hdr *h)
{
  h->hdr_checksum = 0;
  h->hdr_checksum = ~rte_raw_cksum(h, header_length(h));
}

/* Click's CheckIPHeader behind Strip(14): also the source may be no interface's
 * broadcast address. */
static bool sound(struct rte_mbuf *m, bool interfaces)
{
  if (m->data_len < ETHERNET + IPV4)
    return false;
  const struct rte_ipv4_hdr *h = ip_of(m);
  uint16_t header = header_length(h), total = rte_be_to_cpu_16(h->total_length);
  if (h->version_ihl >> 4 != 4 || header < IPV4 || total < header ||
      total > m->data_len - ETHERNET || rte_raw_cksum(h, header) != 0xffff)
    return false;
  uint32_t source = rte_be_to_cpu_32(h->src_addr);
  if (interfaces) {
    if (source == 0 || source == UINT32_MAX)
      return false;
    for (int i = 0; i < HOPS; i++)
      if (source == (outs[i].address | 255))
        return false;
  }
  m->data_len = m->pkt_len = ETHERNET + total;
  return true;
}

/* The router ------------------------------------------------------------------- */

static struct out *look_up(uint32_t address)
{
  for (int i = 0; i < HOPS; i++)
    if ((address & ~255U) == (outs[i].address & ~255U))
      return &outs[i];
  return NULL;
}

static void route(struct rte_mbuf *m);

/* An ICMP error about the packet (RFC 792), routed in turn; frees it. */
static void report(struct out *from, struct rte_mbuf *m, uint8_t type, uint8_t code)
{
  const struct rte_ipv4_hdr *old = ip_of(m);
  uint16_t quoted = RTE_MIN(m->data_len - ETHERNET, (int)QUOTED);
  struct rte_mbuf *answer = rte_pktmbuf_alloc(pool);
  check(answer, "allocating a packet");
  struct rte_ipv4_hdr *h =
    (void *)(rte_pktmbuf_append(answer, ETHERNET + IPV4 + ICMP + quoted) + ETHERNET);
  *h = (struct rte_ipv4_hdr){
    .version_ihl = 0x45, .total_length = rte_cpu_to_be_16(IPV4 + ICMP + quoted),
    .time_to_live = 255, .next_proto_id = 1,
    .src_addr = rte_cpu_to_be_32(from->address), .dst_addr = old->src_addr};
  set_checksum(h);
  struct rte_icmp_hdr *icmp = (void *)(h + 1);
  *icmp = (struct rte_icmp_hdr){.icmp_type = type, .icmp_code = code};
  memcpy(icmp + 1, old, quoted);
  icmp->icmp_cksum = ~rte_raw_cksum(icmp, ICMP + quoted);
  rte_pktmbuf_free(m);
  route(answer);
}

static void encapsulate(struct out *o, struct rte_mbuf *m)
{
  memcpy(rte_pktmbuf_mtod(m, void *), o->header, ETHERNET);
  put(o, m);
}

/* A packet longer than the MTU (RFC 791, section 3.2); its options aren't copied. */
static void fragment(struct out *o, struct rte_mbuf *m)
{
  const struct rte_ipv4_hdr *old = ip_of(m);
  uint16_t header = header_length(old), left = m->data_len - ETHERNET - header;
  uint16_t most = (MTU - header) / 8 * 8;
  for (uint16_t at = 0; left > 0; at += most) {
    uint16_t size = RTE_MIN(left, most);
    struct rte_mbuf *part = rte_pktmbuf_alloc(pool);
    check(part, "allocating a packet");
    uint8_t *data = (void *)rte_pktmbuf_append(part, ETHERNET + header + size);
    memcpy(data + ETHERNET, old, header);
    memcpy(data + ETHERNET + header, (const uint8_t *)old + header + at, size);
    struct rte_ipv4_hdr *h = (void *)(data + ETHERNET);
    left -= size;
    h->total_length = rte_cpu_to_be_16(header + size);
    h->fragment_offset = rte_cpu_to_be_16(at / 8 | (left > 0 ? 0x2000 : 0));
    set_checksum(h);
    encapsulate(o, part);
  }
  rte_pktmbuf_free(m);
}

static void route(struct rte_mbuf *m)
{
  struct rte_ipv4_hdr *h = ip_of(m);
  struct out *o = look_up(rte_be_to_cpu_32(h->dst_addr));
  if (!o) {
    rte_pktmbuf_free(m);
  } else if (h->time_to_live <= 1) {
    report(o, m, 11, 0);
  } else {
    h->time_to_live--;
    /* RFC 1624, equation 3, in the byte order of the header */
    uint32_t sum = (uint16_t)~h->hdr_checksum + 0xffff - rte_cpu_to_be_16(0x0100);
    h->hdr_checksum = ~((sum & 0xffff) + (sum >> 16));
    if (m->data_len - ETHERNET > MTU)
      fragment(o, m);
    else
      encapsulate(o, m);
  }
}

static void do_router(struct rte_mbuf *m)
{
  const struct rte_ether_hdr *e = rte_pktmbuf_mtod(m, const void *);
  if (e->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) && sound(m, true))
    route(m);
  else
    rte_pktmbuf_free(m);
}

/* The others --------------------------------------------------------------------- */

static void do_mirror(struct rte_mbuf *m)
{
  struct rte_ether_hdr *e = rte_pktmbuf_mtod(m, void *);
  struct rte_ether_addr from = e->src_addr;
  e->src_addr = e->dst_addr;
  e->dst_addr = from;
  put(&outs[0], m);
}

static struct rule { uint32_t net; uint16_t port; } rules[MOST_RULES];
static int nrules; /* but for the last, which lets packets pass */

static bool allowed(const struct rte_ipv4_hdr *h)
{
  const struct rte_udp_hdr *udp = (const void *)((const char *)h + header_length(h));
  uint32_t source = rte_be_to_cpu_32(h->src_addr);
  uint16_t port = rte_be_to_cpu_16(udp->dst_port);
  for (int i = 0; i < nrules; i++)
    if ((source & ~255U) == rules[i].net && port == rules[i].port)
      return false;
  return h->next_proto_id == 17;
}

static void do_firewall(struct rte_mbuf *m)
{
  if (sound(m, false) && allowed(ip_of(m)))
    put(&outs[0], m);
  else
    rte_pktmbuf_free(m);
}

static void do_classifier(struct rte_mbuf *m)
{
  if (!sound(m, false)) {
    rte_pktmbuf_free(m);
    return;
  }
  const struct rte_ipv4_hdr *h = ip_of(m);
  const struct rte_udp_hdr *udp = (const void *)((const char *)h + header_length(h));
  bool first = !(h->fragment_offset & rte_cpu_to_be_16(0x1fff));
  uint8_t protocol = h->next_proto_id;
  if (protocol == 6 && first && udp->dst_port == rte_cpu_to_be_16(80))
    put(&outs[0], m);
  else if (protocol == 17 && first && udp->dst_port == rte_cpu_to_be_16(53))
    put(&outs[1], m);
  else if (protocol == 1)
    put(&outs[2], m);
  else
    put(&outs[3], m);
}

struct flow { uint32_t from, to; uint16_t from_port, to_port; uint32_t protocol; };

static struct rte_hash *flows;
static uint16_t values[FLOWS], next = 1024;

/* What is kept of the packet's flow: 0 if it is new. */
static inline uint16_t *value_of(const struct rte_ipv4_hdr *h,
                                 const struct rte_udp_hdr *udp)
{
  struct flow flow = {h->src_addr, h->dst_addr, udp->src_port, udp->dst_port,
                      h->next_proto_id};
  int at = rte_hash_lookup(flows, &flow);
  if (at < 0)
    at = rte_hash_add_key(flows, &flow);
  check(at >= 0, "adding a flow");
  return &values[at];
}

/* The checksum when 16 bits change (RFC 1624). */
static uint16_t changed(uint16_t sum, uint16_t old, uint16_t new)
{
  uint32_t s = (uint16_t)~sum + (uint16_t)~old + new;
  s = (s & 0xffff) + (s >> 16);
  return ~(s + (s >> 16));
}

static void do_nat(struct rte_mbuf *m)
{
  if (!sound(m, false)) {
    rte_pktmbuf_free(m);
    return;
  }
  struct rte_ipv4_hdr *h = ip_of(m);
  struct rte_udp_hdr *udp = (void *)((char *)h + header_length(h));
  uint16_t *port = value_of(h, udp);
  if (*port == 0)
    *port = rte_cpu_to_be_16(next++);
  uint32_t source = rte_cpu_to_be_32(NET(192, 0, 2, 1));
  uint16_t sum = h->hdr_checksum;
  sum = changed(sum, h->src_addr & 0xffff, source & 0xffff);
  h->hdr_checksum = changed(sum, h->src_addr >> 16, source >> 16);
  if (udp->dgram_cksum) {
    sum = changed(udp->dgram_cksum, h->src_addr & 0xffff, source & 0xffff);
    sum = changed(sum, h->src_addr >> 16, source >> 16);
    udp->dgram_cksum = changed(sum, udp->src_port, *port);
  }
  h->src_addr = source;
  udp->src_port = *port;
  put(&outs[0], m);
}

/* A flow keeps the server that it was given when it began. */
static void do_balancer(struct rte_mbuf *m)
{
  if (!sound(m, false)) {
    rte_pktmbuf_free(m);
    return;
  }
  struct rte_ipv4_hdr *h = ip_of(m);
  struct rte_udp_hdr *udp = (void *)((char *)h + header_length(h));
  uint16_t *number = value_of(h, udp);
  if (*number == 0)
    *number = 1 + next++ % HOPS;
  uint32_t server = rte_cpu_to_be_32(NET(192, 168, 0, *number));
  uint16_t sum = h->hdr_checksum;
  sum = changed(sum, h->dst_addr & 0xffff, server & 0xffff);
  h->hdr_checksum = changed(sum, h->dst_addr >> 16, server >> 16);
  if (udp->dgram_cksum) {
    sum = changed(udp->dgram_cksum, h->dst_addr & 0xffff, server & 0xffff);
    udp->dgram_cksum = changed(sum, h->dst_addr >> 16, server >> 16);
  }
  h->dst_addr = server;
  put(&outs[0], m);
}

/* Strings, by Hyperscan as Perigee does, which is there if its library is. */
static struct {
  int (*scan)(const void *, const char *, unsigned, unsigned, void *,
              int (*)(unsigned, unsigned long long, unsigned long long, unsigned,
                      void *), void *);
  void *database, *scratch;
} strings;

static int on_string(unsigned id, unsigned long long from, unsigned long long to,
                     unsigned flags, void *found)
{
  (void)id, (void)from, (void)to, (void)flags;
  *(bool *)found = true;
  return 1;
}

static void do_strings(struct rte_mbuf *m)
{
  bool found = false;
  strings.scan(strings.database, rte_pktmbuf_mtod(m, const char *), m->data_len, 0,
               strings.scratch, on_string, &found);
  put(&outs[found], m);
}

/* `list`: separated by commas. */
static void look_for(char *list)
{
  enum { MOST = 64, BLOCK = 1, ONCE = 8 };
  const char *text[MOST];
  unsigned flags[MOST], n = 0;
  size_t size[MOST];
  void *hs = dlopen("libhs.so.5", RTLD_NOW), *error;
  check(hs, "loading Hyperscan");
  int (*compile)(const char *const *, const unsigned *, const unsigned *,
                 const size_t *, unsigned, unsigned, const void *, void **, void **) =
    dlsym(hs, "hs_compile_lit_multi");
  int (*scratch)(const void *, void **) = dlsym(hs, "hs_alloc_scratch");
  strings.scan = dlsym(hs, "hs_scan");
  check(compile && scratch && strings.scan, "finding Hyperscan's functions");
  for (char *s = strtok(list, ","); s && n < MOST; s = strtok(NULL, ",")) {
    text[n] = s;
    flags[n] = ONCE;
    size[n++] = strlen(s);
  }
  check(compile(text, flags, NULL, size, n, BLOCK, NULL, &strings.database, &error) == 0,
        "compiling strings");
  check(scratch(strings.database, &strings.scratch) == 0, "making a scratch");
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

static const struct { const char *name; void (*work)(struct rte_mbuf *); } modes[] = {
  {"mirror", do_mirror}, {"router", do_router}, {"firewall", do_firewall},
  {"classifier", do_classifier}, {"nat", do_nat}, {"balancer", do_balancer},
  {"strings", do_strings}, {"tee", do_tee}};

/* `more`: what follows the mode's name and a colon. */
static void prepare(void (*work)(struct rte_mbuf *), char *more)
{
  char devargs[32];
  struct rte_hash_parameters table = {
    .name = "flows", .entries = FLOWS - 1, .key_len = sizeof(struct flow),
    .hash_func = rte_hash_crc, .socket_id = SOCKET_ID_ANY};
  flows = rte_hash_create(&table);
  check(flows, "the table of flows");
  for (int i = 0; i < HOPS; i++) {
    struct out *o = &outs[i];
    uint8_t header[ETHERNET] = {2, 0, 0, 0, 1, i + 1, 2, 0, 0, 0, 2, i + 1, 8, 0};
    snprintf(devargs, sizeof devargs, "net_null_out%d,copy=0", i);
    o->port = open_port(devargs, pool);
    o->address = NET(10, 0, i, 1);
    memcpy(o->header, header, sizeof header);
  }
  if (work == do_firewall) {
    nrules = more ? atoi(more) - 1 : 0;
    check(nrules > 0 && nrules < MOST_RULES, "reading the number of rules");
    for (int i = 0; i < nrules; i++)
      rules[i] = (struct rule){NET(172, 16, i % 256, 0), 1000 + i};
  }
  if (work == do_strings) {
    check(more, "reading the strings");
    look_for(more);
  }
}

int main(int argc, char **argv)
{
  check(argc > 5, "usage: click MODE RX-DEVARGS BURST SECONDS EAL-ARGUMENTS...; "
                  "reading it");
  void (*work)(struct rte_mbuf *) = NULL;
  char *more = strchr(argv[1], ':');
  if (more)
    *more++ = 0;
  for (size_t i = 0; i < RTE_DIM(modes); i++)
    if (strcmp(argv[1], modes[i].name) == 0)
      work = modes[i].work;
  int burst = atoi(argv[3]);
  double seconds = atof(argv[4]);
  check(work && burst > 0 && burst <= MAX_BURST && seconds > 0,
        "reading the arguments");
  check(rte_eal_init(argc - 4, argv + 4) >= 0, "starting EAL");
  pool = make_pool();
  uint16_t source = open_port(argv[2], pool);
  prepare(work, more);
  uint64_t packets = 0;
  double start = cpu_seconds(), now = start;
  while ((now = cpu_seconds()) - start < seconds)
    for (int k = 0; k < 1000; k++) {
      struct rte_mbuf *burst_of[MAX_BURST];
      uint16_t n = rte_eth_rx_burst(source, 0, burst_of, burst);
      for (uint16_t i = 0; i < n; i++)
        work(burst_of[i]);
      for (int i = 0; i < HOPS; i++)
        flush(&outs[i]);
      packets += n;
    }
  print_result(packets, now - start);
  return 0;
}
