/* SPDX-License-Identifier: Apache-2.0
 *
 * Work without a purpose: random numbers (xorshift64*, Vigna 2016), and reads of memory
 * each of which depends on what the one before it found.
 */
#include <string.h>

#include "work.h"

enum { PERCENT = 100 };

static uint32_t draw(struct work_package *w)
{
  uint64_t x = w->state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  w->state = x;
  return x * 0x2545f4914f6cdd1dull >> 32;
}

/* A number from 0 to n - 1 that the random number `r` stands for. */
static uint32_t scale(uint32_t r, uint32_t n)
{
  return (uint64_t)r * n >> 32;
}

/* Fill the array. */
void pg_work_seed(struct work_package *w)
{
  for (uint32_t i = 0; i < w->size; i++)
    w->array[i] = draw(w);
}

void pg_work_package(struct work_package *w, const uint8_t *data, uint32_t length)
{
  uint32_t r = w->result, bytes = w->packet_bytes < length ? w->packet_bytes : length;
  for (uint32_t i = 0; i < w->draws; i++)
    r = draw(w);
  for (uint32_t i = 0; i < w->accesses; i++) {
    uint32_t found = 0;
    if (scale(r, PERCENT) < w->packet_share) {
      if (bytes >= sizeof found)
        memcpy(&found, data + scale(r, bytes - sizeof found + 1), sizeof found);
    } else if (w->size > 0) {
      found = w->array[scale(r, w->size)];
    }
    r = found ^ (r << 24 ^ r << 16 ^ r << 8 ^ r >> 16);
  }
  w->result = r;
}

void pg_work_random(struct work_package *w, uint32_t least, uint32_t most)
{
  uint32_t n = least + scale(draw(w), most - least + 1);
  for (uint32_t i = 1; i < n; i++)
    w->result = draw(w);
}
