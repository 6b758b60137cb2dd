/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of flows (src/net/flow) beside rte_hash, for bench/suite/flow.py:
 *
 *   flow find FLOWS ZIPF HITS SECONDS EAL...
 *   flow add FLOWS SECONDS EAL...
 *   flow grow FLOWS EAL...
 *   flow check STEPS EAL...
 *
 * find: packets of FLOWS flows, by Zipf's law with that exponent (0: evenly), of which a
 * share of HITS is known, are looked up in bursts of 64; each found record is read and its
 * age renewed. Beside it rte_hash_lookup_bulk_data, its records asked for together, too.
 * add: new flows until there are FLOWS, from nothing. Both take turns; each prints its
 * nanoseconds of CPU time for one, the least of all turns and the median.
 * grow: the longest time that an addition took, and that a look at the clock took, in
 * microseconds of the thread's CPU time, and how many took over 100 (interrupts and the
 * hypervisor's pauses are among them), with memory that is new; and of how many of these
 * additions the thread had a page fault in or shortly before them. check: random calls, beside an array; with
 * SANITIZE=address its memory is looked after.
 */
#define _GNU_SOURCE
#include <math.h>
#include <sys/resource.h>

#include <rte_hash.h>
#include <rte_hash_crc.h>

#include "../../src/net/flow/find.h"
#include "../../src/net/flow/ahead.c"
#include "../../src/net/flow/index.c"
#include "../../src/net/flow/memory.c"
#include "../../src/net/flow/records.c"
#include "../../src/net/flow/table.c"
#undef HASH
#include "common.h"

enum { AT_ONCE_KEYS = 64, MOST_QUERIES = 1 << 20, TURNS_MOST = 999, OVER_US = 100, LOOK_US = 25 };

struct bench_key { uint32_t from, to; uint16_t sport, dport; uint32_t protocol; };
struct bench_record {
  struct bench_key key;
  uint64_t packets;
  struct flow_age age;
  uint64_t more[2];
};
struct other_record { uint64_t packets; int64_t expiry; };

static double unit(void) { return (roll() >> 11) * 0x1p-53; }

static struct bench_key key_number(uint64_t i)
{
  return (struct bench_key){rte_cpu_to_be_32(0x0a000000 + (uint32_t)(i >> 4)), 0xc0000201,
                            (uint16_t)(1024 + i % 16), 80, 17};
}

/* A rank from 0 on, by Zipf's law: the inverse of its integral (Gray et al., 1994). */
static uint64_t zipf(uint64_t n, double exponent)
{
  double u = unit(), e = 1 - exponent, x;
  if (exponent == 0)
    return roll() % n;
  if (fabs(e) < 1e-9)
    x = pow((double)n + 1, u);
  else
    x = pow(u * (pow((double)n + 1, e) - 1) + 1, 1 / e);
  uint64_t rank = (uint64_t)x - 1;
  return (rank < n ? rank : n - 1) * 0x9e3779b1u % n; /* popular ones are anywhere */
}

static struct bench_key *queries(uint64_t flows, double exponent, double hits)
{
  struct bench_key *keys = malloc(MOST_QUERIES * sizeof *keys);
  check(keys, "memory for queries");
  for (int i = 0; i < MOST_QUERIES; i++)
    keys[i] = key_number(zipf(flows, exponent) + (unit() < hits ? 0 : flows));
  return keys;
}

/* Ours ------------------------------------------------------------------------------ */

static struct flow_table *table;

static void make_table(uint32_t flows, bool reserve)
{
  table = pg_flow_table_new(sizeof(struct bench_record), sizeof(struct bench_key),
                            offsetof(struct bench_record, age), flows, FLOW_REFUSE, 0);
  check(table, "the table");
  table->lists = 1;
  table->list[0].timeout = 60000;
  if (reserve)
    pg_flow_table_reserve(table, flows);
}

static void add_ours(const struct bench_key *key, int64_t now)
{
  check(pg_flow_table_add(table, key, 0, now), "adding a flow");
}

static uint64_t find_ours(const struct bench_key *keys, int64_t now)
{
  uint32_t numbers[AT_ONCE_KEYS];
  uint64_t sum = 0;
  pg_flow_table_find_many(table, keys, sizeof *keys, AT_ONCE_KEYS, numbers);
  for (int i = 0; i < AT_ONCE_KEYS; i++) {
    if (!numbers[i])
      continue;
    struct bench_record *r = (void *)flow_record(&table->records, numbers[i]);
    sum += ++r->packets;
    flow_touch(&table->records, table->list, numbers[i], 0, now + 60000, now);
  }
  return sum;
}

/* rte_hash --------------------------------------------------------------------------- */

static struct rte_hash *hash;
static struct other_record *others;
static uint64_t used;

static void make_hash(uint32_t flows)
{
  struct rte_hash_parameters p = {
    .name = "flows", .entries = RTE_MAX(flows + flows / 8, 64u),
    .key_len = sizeof(struct bench_key), .hash_func = rte_hash_crc,
    .socket_id = SOCKET_ID_ANY};
  hash = rte_hash_create(&p);
  check(hash, "rte_hash_create");
  size_t bytes = ((size_t)flows * sizeof *others + (2 << 20)) >> 21 << 21;
  others = aligned_alloc(2 << 20, bytes);
  check(others, "the records");
  madvise(others, bytes, MADV_HUGEPAGE);
  memset(others, 0, bytes);
}

static void add_other(const struct bench_key *key, int64_t now)
{
  if (rte_hash_lookup(hash, key) >= 0)
    return;
  struct other_record *r = &others[used++];
  *r = (struct other_record){0, now + 60000};
  check(rte_hash_add_key_data(hash, key, r) == 0, "rte_hash_add_key_data");
}

static uint64_t find_other(const struct bench_key *keys, int64_t now)
{
  const void *at[AT_ONCE_KEYS];
  void *data[AT_ONCE_KEYS];
  uint64_t mask = 0, sum = 0;
  for (int i = 0; i < AT_ONCE_KEYS; i++)
    at[i] = &keys[i];
  rte_hash_lookup_bulk_data(hash, at, AT_ONCE_KEYS, &mask, data);
  for (uint64_t m = mask; m; m &= m - 1)
    __builtin_prefetch(data[__builtin_ctzll(m)], 1);
  for (uint64_t m = mask; m; m &= m - 1) {
    struct other_record *r = data[__builtin_ctzll(m)];
    sum += ++r->packets;
    r->expiry = now + 60000;
  }
  return sum;
}

/* Turns ------------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print(const char *name, double *values, int n)
{
  qsort(values, n, sizeof *values, ascending);
  printf("%s %.3f %.3f\n", name, values[n / 2], values[0]);
}

static void find(uint64_t flows, double exponent, double hits, double seconds)
{
  static double times[2][TURNS_MOST];
  make_table(flows, true);
  make_hash(flows);
  for (uint64_t i = 0; i < flows; i++) {
    struct bench_key key = key_number(i);
    add_ours(&key, 0);
    add_other(&key, 0);
  }
  struct bench_key *keys = queries(flows, exponent, hits);
  uint64_t (*const work[2])(const struct bench_key *, int64_t) = {find_ours, find_other};
  double end = cpu_seconds() + seconds;
  int turn = 0, at = 0;
  int64_t now = 0;
  volatile uint64_t sum[2] = {0};
  enum { PER_TURN = 1 << 16 };
  for (; turn < TURNS_MOST && (cpu_seconds() < end || turn < 9); turn++, now += 10) {
    for (int w = 0; w < 2; w++) {
      int which = (w + turn) % 2;
      double began = cpu_seconds();
      for (int i = 0; i < PER_TURN; i += AT_ONCE_KEYS)
        sum[which] += work[which](keys + at + i, now);
      times[which][turn] = (cpu_seconds() - began) / PER_TURN * 1e9;
    }
    at = (at + PER_TURN) % MOST_QUERIES;
  }
  check(sum[0] == sum[1], "finding the same");
  print("ours", times[0] + 1, turn - 1);
  print("other", times[1] + 1, turn - 1);
}

static void add(uint64_t flows, double seconds)
{
  static double times[2][TURNS_MOST];
  double end = cpu_seconds() + seconds;
  int turn = 0;
  for (; turn < TURNS_MOST && (cpu_seconds() < end || turn < 3); turn++) {
    for (int w = 0; w < 2; w++) {
      int which = (w + turn) % 2;
      if (which == 0)
        make_table(flows, false);
      else
        make_hash(flows);
      double began = cpu_seconds();
      for (uint64_t i = 0; i < flows; i++) {
        struct bench_key key = key_number(i);
        which == 0 ? add_ours(&key, 0) : add_other(&key, 0);
      }
      times[which][turn] = (cpu_seconds() - began) / flows * 1e9;
      if (which == 0) {
        pg_flow_table_free(table);
      } else {
        rte_hash_free(hash);
        free(others);
        used = 0;
      }
    }
  }
  print("ours", times[0], turn);
  print("other", times[1], turn);
}

static double thread_microseconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static void note(double *longest, uint64_t *over, double us)
{
  *longest = us > *longest ? us : *longest;
  *over += us > OVER_US;
}

static long page_faults(void)
{
  struct rusage use;
  getrusage(RUSAGE_THREAD, &use);
  return use.ru_minflt;
}

/* Of each addition, and of as many looks at the clock. */
static void grow(uint64_t flows)
{
  double longest[2] = {0};
  uint64_t over[2] = {0}, faulted = 0;
  long faults = page_faults();
  make_table(flows, false);
  for (uint64_t i = 0; i < flows; i++) {
    struct bench_key key = key_number(i);
    double began = thread_microseconds();
    add_ours(&key, (int64_t)(i / 1000));
    double added = thread_microseconds();
    note(&longest[0], &over[0], added - began);
    if (added - began > LOOK_US) {
      long now = page_faults();
      faulted += added - began > OVER_US && now != faults;
      faults = now;
    }
    note(&longest[1], &over[1], thread_microseconds() - added);
  }
  printf("%.1f %lu %.1f %lu %lu\n", longest[0], over[0], longest[1], over[1], faulted);
}

/* Random calls, and an array that tells what must be there. */
static void check_calls(uint64_t steps)
{
  enum { KEYS = 50000, LIMIT = 30000 };
  static uint32_t number[KEYS];
  make_table(LIMIT, false);
  uint64_t count = 0;
  for (uint64_t i = 0; i < steps; i++) {
    uint64_t k = roll() % KEYS;
    struct bench_key key = key_number(k);
    check(pg_flow_table_find(table, &key) == number[k], "finding a key");
    if (number[k] && roll() % 2) {
      pg_flow_table_remove(table, number[k]);
      number[k] = 0;
      count--;
    } else if (number[k]) {
      pg_flow_table_touch(table, number[k], 0, (int64_t)(i / 10));
    } else {
      number[k] = pg_flow_table_add(table, &key, 0, (int64_t)(i / 10));
      check((number[k] != 0) == (count < LIMIT), "adding a key");
      count += number[k] != 0;
    }
  }
  for (uint32_t n = 0; (n = pg_flow_table_next(table, n)); count--)
    ;
  check(count == 0, "going through all");
  while (pg_flow_table_oldest(table))
    pg_flow_table_remove(table, pg_flow_table_oldest(table));
  check(table->records.count == 0 && table->index.entries == 0, "removing all");
  pg_flow_table_free(table);
  puts("good");
}

static double number(const char *text) { return strtod(text, NULL); }

int main(int argc, char **argv)
{
  static const struct { const char *name; int args; } WORKS[] = {
    {"find", 4}, {"add", 2}, {"grow", 1}, {"check", 1}};
  int which = 0;
  while (which < 4 && (argc < 2 || strcmp(argv[1], WORKS[which].name) != 0))
    which++;
  check(which < 4 && argc > 1 + WORKS[which].args, "usage: see bench/native/flow.c; it");
  int skip = 1 + WORKS[which].args;
  const char *a[4] = {0};
  for (int i = 0; i < WORKS[which].args; i++)
    a[i] = argv[2 + i];
  argv[skip] = argv[0];
  check(rte_eal_init(argc - skip, argv + skip) >= 0, "starting EAL");
  switch (which) {
  case 0: find((uint64_t)number(a[0]), number(a[1]), number(a[2]), number(a[3])); break;
  case 1: add((uint64_t)number(a[0]), number(a[1])); break;
  case 2: grow((uint64_t)number(a[0])); break;
  default: check_calls((uint64_t)number(a[0]));
  }
  return 0;
}
