/* SPDX-License-Identifier: Apache-2.0
 *
 * The internet checksum (RFC 1071). The kernels add up native 16-bit words, in
 * wider ones and as vectors; the fastest this CPU has is chosen at the first
 * use. A sum is folded and brought to host order once, at the end.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "checksum.h"
#include "sum.h"

/* Congruent to the sum of the native 16-bit words of `n` bytes modulo 65535,
 * and 0 only if all are; a last odd byte is the first of a word. */
typedef uint64_t sum_kernel(const uint8_t *p, uint32_t n);

static uint64_t sum_portable(const uint8_t *p, uint32_t n)
{
  return pg_sum_words(p, n);
}

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw")))

/* Of 64-bit lanes, their sum modulo 2^64 and the sum of their high halves give
 * that of the low halves: all - (high << 32). That takes three instructions a
 * vector, where masking the low halves takes four. */
AVX2 static inline void add_256(__m256i *all, __m256i *high, const uint8_t *p)
{
  __m256i v = _mm256_loadu_si256((const __m256i *)p);
  *all = _mm256_add_epi64(*all, v);
  *high = _mm256_add_epi64(*high, _mm256_srli_epi64(v, 32));
}

AVX2 static inline uint64_t total_256(__m256i all, __m256i high)
{
  __m256i low = _mm256_sub_epi64(all, _mm256_slli_epi64(high, 32));
  __m256i v = _mm256_add_epi64(low, high);
  __m128i half = _mm_add_epi64(_mm256_castsi256_si128(v),
                               _mm256_extracti128_si256(v, 1));
  return _mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1);
}

AVX2 static uint64_t sum_avx2(const uint8_t *p, uint32_t n)
{
  __m256i all[2] = {0}, high[2] = {0};
  for (; n >= 64; n -= 64, p += 64)
    for (int i = 0; i < 2; i++)
      add_256(&all[i], &high[i], p + 32 * i);
  if (n >= 32) {
    add_256(&all[0], &high[0], p);
    n -= 32;
    p += 32;
  }
  return total_256(_mm256_add_epi64(all[0], all[1]),
                   _mm256_add_epi64(high[0], high[1])) + pg_sum_words(p, n);
}

AVX512 static inline void add_512(__m512i *all, __m512i *high, __m512i v)
{
  *all = _mm512_add_epi64(*all, v);
  *high = _mm512_add_epi64(*high, _mm512_srli_epi64(v, 32));
}

AVX512 static inline uint64_t total_512(__m512i all, __m512i high)
{
  __m512i low = _mm512_sub_epi64(all, _mm512_slli_epi64(high, 32));
  return _mm512_reduce_add_epi64(_mm512_add_epi64(low, high));
}

/* The same; the last bytes are loaded under a mask. */
AVX512 static uint64_t sum_avx512(const uint8_t *p, uint32_t n)
{
  __m512i all[2] = {0}, high[2] = {0};
  for (; n >= 128; n -= 128, p += 128)
    for (int i = 0; i < 2; i++)
      add_512(&all[i], &high[i], _mm512_loadu_si512(p + 64 * i));
  if (n >= 64) {
    add_512(&all[0], &high[0], _mm512_loadu_si512(p));
    n -= 64;
    p += 64;
  }
  if (n > 0)
    add_512(&all[1], &high[1], _mm512_maskz_loadu_epi8(UINT64_MAX >> (64 - n), p));
  return total_512(_mm512_add_epi64(all[0], all[1]),
                   _mm512_add_epi64(high[0], high[1]));
}

static bool has_avx2(void)
{
  return __builtin_cpu_supports("avx2");
}

static bool has_avx512(void)
{
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}
#endif

static bool always(void)
{
  return true;
}

static const struct {
  const char *name;
  sum_kernel *sum;
  bool (*runs_here)(void);
} kernels[] = {
#ifdef __x86_64__
  {"avx512", sum_avx512, has_avx512},
  {"avx2", sum_avx2, has_avx2},
#endif
  {"portable", sum_portable, always},
};

static uint64_t choose(const uint8_t *p, uint32_t n);
static _Atomic(sum_kernel *) chosen = choose;

static uint64_t choose(const uint8_t *p, uint32_t n)
{
  int i = 0;
  while (!kernels[i].runs_here())
    i++;
  atomic_store_explicit(&chosen, kernels[i].sum, memory_order_relaxed);
  return kernels[i].sum(p, n);
}

/* As pg_sum_words (sum.h), for more bytes than a header has. */
uint64_t pg_sum_bytes(const uint8_t *p, uint32_t n)
{
  if (n < FEW_BYTES)
    return pg_sum_words(p, n);
  return atomic_load_explicit(&chosen, memory_order_relaxed)(p, n);
}

/* The checksum of `n` bytes in host order. `initial` is added to their sum: host
 * order too, of pg_pseudo_sum() or the complement of another checksum. */
uint32_t pg_checksum(const void *data, uint32_t n, uint32_t initial)
{
  return rte_be_to_cpu_16(pg_fold_not(
    pg_sum_bytes(data, n) + pg_from_host(initial)));
}

/* The same by kernel `i`, best first; -1 if there is none, or not on this CPU. */
int64_t pg_checksum_by(int i, const void *data, uint32_t n, uint32_t initial)
{
  if (i < 0 || i >= (int)RTE_DIM(kernels) || !kernels[i].runs_here())
    return -1;
  return rte_be_to_cpu_16(pg_fold_not(
    kernels[i].sum(data, n) + pg_from_host(initial)));
}

/* The name of kernel `i`; NULL if there is none. */
const char *pg_checksum_kernel(int i)
{
  return i >= 0 && i < (int)RTE_DIM(kernels) ? kernels[i].name : NULL;
}

/* The sum over a pseudo header, in host order, not complemented: `addresses` are
 * source and destination as they lie in the IP header, 8 bytes (RFC 9293,
 * section 3.1) or 32 (RFC 8200, section 8.1); `length` is of what follows. */
uint32_t pg_pseudo_sum(const void *addresses, uint32_t n, uint32_t protocol,
                       uint32_t length)
{
  uint16_t sum = ~pg_fold_not(pg_pseudo(addresses, n, protocol, length));
  return rte_be_to_cpu_16(sum);
}
