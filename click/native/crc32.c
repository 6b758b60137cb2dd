/* SPDX-License-Identifier: Apache-2.0
 *
 * CRC-32/MPEG-2, by a table for each byte.
 */
#include "crc32.h"

enum { POLYNOMIAL = 0x04c11db7, BYTES = 256 };

static uint32_t table[BYTES];

__attribute__((constructor)) static void fill(void)
{
  for (uint32_t i = 0; i < BYTES; i++) {
    uint32_t crc = i << 24;
    for (int k = 0; k < 8; k++)
      crc = crc << 1 ^ (crc >> 31 ? POLYNOMIAL : 0);
    table[i] = crc;
  }
}

uint32_t pg_crc32_mpeg2(const uint8_t *data, uint32_t n)
{
  uint32_t crc = UINT32_MAX;
  for (uint32_t i = 0; i < n; i++)
    crc = crc << 8 ^ table[crc >> 24 ^ data[i]];
  return crc;
}
