/* SPDX-License-Identifier: Apache-2.0
 *
 * Routes (src/net/route) beside rte_lpm and rte_lpm6, for bench/suite/route.py:
 *
 *   route 4|6 ROUTES SECONDS EAL...
 *
 * Addresses of ROUTES prefixes, of the lengths that the Internet's have, are looked up one
 * by one, by ours and by the other in turn: prints for each the nanoseconds of CPU time for
 * one, the least of all turns. Both must find the same.
 */
#define _GNU_SOURCE

#include <rte_byteorder.h>
#include <rte_lpm.h>
#include <rte_lpm6.h>

#include "../../src/net/route/table.c"
#include "../../src/net/route/layout.c"
#define go_on go_on_6
#include "../../src/net/route/table6.c"
#include "common.h"

enum { ADDRESSES = 4096, ROUNDS = 16, TURNS = 5, HOPS = 16, LONG_PREFIXES = 1 << 16 };

static uint32_t found[2][ADDRESSES];

/* IPv4 ------------------------------------------------------------------------------- */

static struct ip4_table ours4;
static struct rte_lpm *other4;
static uint32_t addresses4[ADDRESSES]; /* in network order */

static void make4(uint32_t n)
{
  static const uint8_t lengths[] = {16, 18, 20, 21, 22, 22, 23, 24, 24, 24, 24, 24, 24, 28};
  struct rte_lpm_config conf = {.max_rules = n, .number_tbl8s = LONG_PREFIXES};
  other4 = rte_lpm_create("bench", SOCKET_ID_ANY, &conf);
  check(other4 && pg_ip4_table_init(&ours4), "making the tables");
  for (uint32_t i = 0; i < n; i++) {
    uint8_t length = lengths[roll() % sizeof lengths];
    uint32_t mask = UINT32_MAX << (32 - length);
    uint32_t inside = 0x01000000 + (uint32_t)(roll() % 0xdf000000), hop = roll() % HOPS;
    check(pg_ip4_table_put(&ours4, inside & mask, mask, 0, (int32_t)hop) > 0 &&
          rte_lpm_add(other4, inside & mask, length, hop) == 0, "adding a route");
    uint32_t at = i < ADDRESSES ? i : roll() % ADDRESSES;
    addresses4[at] = rte_cpu_to_be_32(inside);
  }
  while (pg_ip4_table_lay_out(&ours4, 512) > 0)
    ;
}

/* The ways' ports are from 1; none has -1. */
static void ours4_look_up(void)
{
  for (int i = 0; i < ADDRESSES; i++)
    found[0][i] = (uint32_t)ours4.ways[pg_ip4_table_look_up(&ours4, addresses4[i])].port;
}

static void other4_look_up(void)
{
  for (int i = 0; i < ADDRESSES; i++) {
    uint32_t hop = 0;
    found[1][i] = rte_lpm_lookup(other4, rte_be_to_cpu_32(addresses4[i]), &hop) == 0
      ? hop + 1 : UINT32_MAX;
  }
}

/* IPv6 ------------------------------------------------------------------------------- */

static struct ip6_table ours6;
static struct rte_lpm6 *other6;
static uint8_t addresses6[ADDRESSES][16];

static void make6(uint32_t n)
{
  static const uint8_t lengths[] = {29, 32, 32, 36, 40, 44, 48, 48, 48, 48, 48, 64};
  struct rte_lpm6_config conf = {.max_rules = n, .number_tbl8s = 1 << 18};
  struct ip6_route *list = calloc(n, sizeof *list);
  other6 = rte_lpm6_create("bench", SOCKET_ID_ANY, &conf);
  check(list && other6, "making the tables");
  for (uint32_t i = 0; i < n; i++) {
    uint64_t high = UINT64_C(1) << 61 | roll() >> 3, low = roll();
    uint8_t length = lengths[roll() % sizeof lengths];
    memcpy(list[i].address, (uint64_t[]){rte_cpu_to_be_64(high), rte_cpu_to_be_64(low)}, 16);
    list[i].length = length;
    list[i].value = i + 1;
    int known = rte_lpm6_is_rule_present(other6, list[i].address, length, &(uint32_t){0});
    check(known || rte_lpm6_add(other6, list[i].address, length, i) == 0,
          "adding a route");
    memcpy(addresses6[i < ADDRESSES ? i : roll() % ADDRESSES], list[i].address, 16);
  }
  check(pg_ip6_table_build(&ours6, list, n), "making the table");
  free(list);
}

static void ours6_look_up(void)
{
  for (int i = 0; i < ADDRESSES; i++)
    found[0][i] = pg_ip6_table_look_up(&ours6, addresses6[i]);
}

static void other6_look_up(void)
{
  for (int i = 0; i < ADDRESSES; i++) {
    uint32_t hop = 0;
    found[1][i] = rte_lpm6_lookup(other6, addresses6[i], &hop) == 0 ? hop + 1 : 0;
  }
}

/* Of one look-up, in nanoseconds. */
static double time_of(void (*look_up)(void))
{
  double began = cpu_seconds();
  for (int i = 0; i < ROUNDS; i++)
    look_up();
  return (cpu_seconds() - began) / ROUNDS / ADDRESSES * 1e9;
}

int main(int argc, char **argv)
{
  check(argc > 4 && (*argv[1] == '4' || *argv[1] == '6'),
        "usage: route 4|6 ROUTES SECONDS EAL-ARGUMENTS...; reading it");
  bool six = *argv[1] == '6';
  uint32_t n = (uint32_t)strtoul(argv[2], NULL, 10);
  double seconds = atof(argv[3]), least[2] = {1e9, 1e9};
  check(n > 0 && seconds > 0, "reading the arguments");
  check(rte_eal_init(argc - 3, argv + 3) >= 0, "starting EAL");
  void (*look_ups[2])(void) = {six ? ours6_look_up : ours4_look_up,
                               six ? other6_look_up : other4_look_up};
  (six ? make6 : make4)(n);
  double end = cpu_seconds() + seconds;
  for (int turn = 0; turn < TURNS || cpu_seconds() < end; turn++)
    for (int w = 0; w < 2; w++)
      least[(w + turn) % 2] = RTE_MIN(least[(w + turn) % 2],
                                      time_of(look_ups[(w + turn) % 2]));
  check(memcmp(found[0], found[1], sizeof found[0]) == 0, "finding the same");
  printf("ours %.2f\nother %.2f\n", least[0], least[1]);
  return 0;
}
