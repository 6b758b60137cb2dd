/* SPDX-License-Identifier: Apache-2.0
 *
 * Known work, to load a graph with, and the measures of it: a loop of so many
 * iterations, a list in random order, and chains of dependent additions. Times are
 * TSC cycles between two serialised readings: LFENCE, RDTSC and RDTSCP as in
 * Paoloni, "How to Benchmark Code Execution Times on Intel IA-32 and IA-64" (2010),
 * who serialises with CPUID; that leaves a virtual machine, and LFENCE doesn't. On arm64
 * they are those of CNTVCT_EL0, between ISBs (Arm Architecture Reference Manual, D12.2).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include <rte_common.h>
#include <rte_cycles.h>

#include "../api.h"
#include "../host.h"

/* What comes later begins when all that came before is done. */
static inline void serialize(void)
{
#ifdef __x86_64__
  _mm_lfence();
#else
  __asm__ volatile("isb" : : : "memory");
#endif
}

static inline uint64_t begin(void)
{
  serialize();
  uint64_t t = rte_rdtsc();
  serialize();
  return t;
}

static inline uint64_t end(void)
{
#ifdef __x86_64__
  unsigned cpu;
  uint64_t t = __rdtscp(&cpu);
#else
  serialize();
  uint64_t t = rte_rdtsc();
#endif
  serialize();
  return t;
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* What one measurement by itself takes: the least of many. */
static uint64_t reading(void)
{
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 64; i++) {
    uint64_t t = begin(), n = end() - t;
    least = n < least ? n : least;
  }
  return least;
}

/* A chain of additions, each of which waits for the one before: one core cycle each.
 * Both operands are registers: some CPUs add constants for nothing. A chain is entered
 * so far before its end; there is no branch whose prediction could fail now and then,
 * but that of the loop over whole chains. */
#ifdef __x86_64__
enum { CHAIN = 256, ADD_BYTES = 3 };
#else
enum { CHAIN = 256, ADD_BYTES = 4 };
#endif

_Static_assert(CHAIN == 256, "as .rept says");

static inline void add_chains(uint64_t additions)
{
  uint64_t sum = 0, one = 1, chains = additions / CHAIN + 1, at;
  uint64_t skipped = (CHAIN - additions % CHAIN) * ADD_BYTES;
#ifdef __x86_64__
  __asm__ volatile("lea 1f(%%rip), %2\n\t"
                   "add %4, %2\n\t"
                   "jmp *%2\n\t"
                   ".p2align 6\n"
                   "1:\n\t"
                   ".rept 256\n\t"
                   "add %3, %0\n\t"
                   ".endr\n\t"
                   "sub $1, %1\n\t"
                   "jnz 1b"
                   : "+r"(sum), "+r"(chains), "=&r"(at)
                   : "r"(one), "r"(skipped)
                   : "cc");
#else
  __asm__ volatile("adr %2, 1f\n\t"
                   "add %2, %2, %4\n\t"
                   "br %2\n\t"
                   ".p2align 6\n"
                   "1:\n\t"
                   ".rept 256\n\t"
                   "add %0, %0, %3\n\t"
                   ".endr\n\t"
                   "subs %1, %1, #1\n\t"
                   "b.ne 1b"
                   : "+r"(sum), "+r"(chains), "=&r"(at)
                   : "r"(one), "r"(skipped)
                   : "cc");
#endif
}

/* So many additions. What came before is done first, so that their time comes on top
 * of it and not beside it. None take but the call. */
void pg_spin(uint32_t additions)
{
  if (additions == 0)
    return;
  serialize();
  add_chains(additions);
}

enum { CALLS = 32, TRIES = 15 };
enum { A_TRY = 8192 }; /* additions: some microseconds */

/* TSC cycles that a call of pg_spin takes: the median of TRIES, each the average
 * of up to CALLS. A try is short, so that an interrupt spoils one at most, on a
 * machine that has many as well. */
double pg_spin_cycles(uint32_t additions)
{
  double tries[TRIES];
  void (*volatile call)(uint32_t) = pg_spin;
  uint64_t nothing = reading();
  int calls = RTE_MAX(1, RTE_MIN((int)(A_TRY / (additions + 1)), (int)CALLS));
  for (int i = 0; i < TRIES; i++) {
    uint64_t t = begin();
    for (int k = 0; k < calls; k++)
      call(additions);
    tries[i] = (double)(end() - t - nothing) / calls;
  }
  qsort(tries, TRIES, sizeof *tries, compare);
  return tries[TRIES / 2];
}

/* Core cycles in one TSC cycle: the median of TRIES chains of additions. The first
 * ones, after other work, are up to a fifth slower, and left out. */
double pg_core_per_tsc(void)
{
  enum { ADDITIONS = 8 * CHAIN };
  double tries[2 * TRIES];
  uint64_t nothing = reading();
  for (int i = 0; i < 2 * TRIES; i++) {
    uint64_t t = begin();
    add_chains(ADDITIONS);
    tries[i] = (double)ADDITIONS / (end() - t - nothing);
  }
  qsort(tries + TRIES, TRIES, sizeof *tries, compare);
  return tries[TRIES + TRIES / 2];
}

struct element {
  struct element *next;
  uint8_t rest[56];
};

_Static_assert(sizeof(struct element) == 64, "a cache line");

/* A number below `n`, from a generator that is the same everywhere (xorshift64*,
 * Vigna, "An experimental exploration of Marsaglia's xorshift generators"). */
static uint64_t below(uint64_t *state, uint64_t n)
{
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return (uint64_t)(((__uint128_t)(*state * 0x2545f4914f6cdd1d) * n) >> 64);
}

enum { HUGE_PAGE = 2 << 20 };

static uint64_t mapped_bytes(const struct load_list *list)
{
  uint64_t bytes = list->elements * sizeof(struct element);
  return (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

/* Memory on pages of 2 MB: reserved ones, or those the kernel puts together where
 * it is asked to (madvise); `list->pages` tells which. */
static void *map_huge(struct load_list *list, uint64_t bytes)
{
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      flags | MAP_HUGETLB | MAP_POPULATE, -1, 0);
  list->pages = LOAD_RESERVED_PAGES;
  if (memory != MAP_FAILED)
    return memory;
  list->pages = LOAD_TRANSPARENT_PAGES;
  uint8_t *area = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (area == MAP_FAILED)
    return MAP_FAILED;
  uint64_t skipped = -(uintptr_t)area % HUGE_PAGE;
  if (skipped)
    munmap(area, skipped);
  if (skipped < HUGE_PAGE)
    munmap(area + skipped + bytes, HUGE_PAGE - skipped);
  madvise(area + skipped, bytes, MADV_HUGEPAGE);
  return area + skipped;
}

/* A list of `elements` in one random cycle (Sattolo's algorithm), the same for the
 * same `seed`, on pages of 2 MB if `huge`. -1 and pg_error() without memory. */
int pg_list_create(struct load_list *list, uint64_t elements, bool huge, uint64_t seed)
{
  list->elements = elements;
  list->pages = LOAD_SMALL_PAGES;
  uint64_t bytes = mapped_bytes(list), state = seed * 0x9e3779b97f4a7c15 | 1;
  void *memory = huge ? map_huge(list, bytes)
    : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return pg_fail("there is no memory for a list of %lu bytes: %s",
                   (unsigned long)bytes, strerror(errno));
  if (!huge)
    madvise(memory, bytes, MADV_NOHUGEPAGE);
  struct element *e = list->memory = memory;
  for (uint64_t i = 0; i < elements; i++)
    e[i].next = &e[i];
  for (uint64_t i = elements - 1; i > 0; i--) {
    uint64_t k = below(&state, i);
    struct element *next = e[i].next;
    e[i].next = e[k].next;
    e[k].next = next;
  }
  list->at = e;
  return 0;
}

void pg_list_free(struct load_list *list)
{
  if (list->memory)
    munmap(list->memory, mapped_bytes(list));
  list->memory = list->at = NULL;
}

/* Go `n` elements on; each address is known only once the one before is there. */
void pg_list_walk(struct load_list *list, uint32_t n)
{
  struct element *at = list->at;
  while (n-- > 0)
    at = at->next;
  list->at = at;
  __asm__ volatile("" : : "r"(at) : "memory");
}

/* TSC cycles of one access: the median of TRIES walks of `n` accesses. */
double pg_list_cycles(struct load_list *list, uint32_t n)
{
  double tries[TRIES];
  uint64_t nothing = reading();
  for (int i = 0; i < TRIES; i++) {
    uint64_t t = begin();
    pg_list_walk(list, n);
    tries[i] = (double)(end() - t - nothing) / n;
  }
  qsort(tries, TRIES, sizeof *tries, compare);
  return tries[TRIES / 2];
}
