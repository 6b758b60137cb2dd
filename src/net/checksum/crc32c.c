/* SPDX-License-Identifier: Apache-2.0
 *
 * CRC32c (RFC 9260, appendix A; reflected polynomial 0x82f63b78), by SSE4.2's
 * instruction where the CPU has it, else by a table of bytes.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "checksum.h"

typedef uint32_t crc_kernel(uint32_t crc, const uint8_t *p, uint32_t n);

static uint32_t table[256];

__attribute__((constructor)) static void fill_table(void)
{
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; bit++)
      crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
    table[byte] = crc;
  }
}

static uint32_t crc_table(uint32_t crc, const uint8_t *p, uint32_t n)
{
  while (n-- > 0)
    crc = table[(crc ^ *p++) & 0xff] ^ crc >> 8;
  return crc;
}

#ifdef __x86_64__
#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc,
                                                             const uint8_t *p,
                                                             uint32_t n)
{
  uint64_t wide = crc, word;
  for (; n >= sizeof word; n -= sizeof word, p += sizeof word) {
    memcpy(&word, p, sizeof word);
    wide = _mm_crc32_u64(wide, word);
  }
  for (crc = wide; n > 0; n--)
    crc = _mm_crc32_u8(crc, *p++);
  return crc;
}

static crc_kernel *best(void)
{
  return __builtin_cpu_supports("sse4.2") ? crc_sse42 : crc_table;
}
#else
static crc_kernel *best(void)
{
  return crc_table;
}
#endif

static uint32_t choose(uint32_t crc, const uint8_t *p, uint32_t n);
static _Atomic(crc_kernel *) chosen = choose;

static uint32_t choose(uint32_t crc, const uint8_t *p, uint32_t n)
{
  atomic_store_explicit(&chosen, best(), memory_order_relaxed);
  return best()(crc, p, n);
}

/* The CRC32c of `n` bytes, after others whose CRC32c is `previous` (0: none).
 * SCTP has it in its header with the lowest byte first. */
uint32_t pg_crc32c(const void *data, uint32_t n, uint32_t previous)
{
  return ~atomic_load_explicit(&chosen, memory_order_relaxed)(~previous, data, n);
}

/* The same by the table, as on a CPU without the instruction. */
uint32_t pg_crc32c_by_table(const void *data, uint32_t n, uint32_t previous)
{
  return ~crc_table(~previous, data, n);
}
