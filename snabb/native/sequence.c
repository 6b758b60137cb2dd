/* SPDX-License-Identifier: Apache-2.0
 *
 * The window against replayed packets of IPsec with extended sequence numbers
 * (RFC 4303, appendix A2), as Snabb's lib.ipsec.esp calls it. `last` is the highest
 * number seen, `window` a ring of `size` bits, a multiple of 8: bit n modulo size is
 * set if n was seen.
 */
#include <stdbool.h>
#include <stdint.h>

static bool seen(const uint8_t *window, uint64_t bit)
{
  return window[bit / 8] >> bit % 8 & 1;
}

/* The upper half of the number whose lower half a packet has: of those it may be, the
 * one in the window, or the next. -1 if that number was seen before. */
int64_t check_seq_no(uint32_t low, uint64_t last, const uint8_t *window, uint32_t size)
{
  uint32_t last_low = (uint32_t)last;
  uint32_t high = last >> 32;
  uint32_t bottom = last_low - size + 1; /* modulo 2^32 */
  if (last_low >= size - 1)
    high += low < bottom;
  else
    high -= low >= bottom;
  uint64_t number = (uint64_t)high << 32 | low;
  if (number <= last && seen(window, number % size))
    return -1;
  return high;
}

/* Take note of a number that was seen, and return the highest one. */
uint64_t track_seq_no(uint32_t high, uint32_t low, uint64_t last, uint8_t *window,
                      uint32_t size)
{
  uint64_t number = (uint64_t)high << 32 | low;
  uint64_t skipped = number > last ? number - last : 0;
  if (skipped > size)
    skipped = size;
  for (uint64_t i = 0; i < skipped; i++)
    window[(number - i) % size / 8] &= ~(1u << (number - i) % size % 8);
  window[number % size / 8] |= 1u << number % size % 8;
  return number > last ? number : last;
}
