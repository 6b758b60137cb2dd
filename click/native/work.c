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

static void fill(const struct flow_work *w, uint8_t *area, const uint8_t *header,
                 uint32_t length, uint32_t times)
{
  for (uint32_t i = 0; i < times; i++) {
    memcpy(area, header, length < w->bytes ? length : w->bytes);
    __asm__ volatile("" : : "r"(area) : "memory"); /* so that each is done */
  }
}

static uint32_t sum_up(const struct flow_work *w, const uint8_t *area, uint32_t times)
{
  uint32_t sum = 0;
  for (uint32_t i = 0; i < times; i++) {
    for (uint32_t k = 0; k < w->bytes; k++)
      sum += area[k];
    __asm__ volatile("" : : "r"(area) : "memory");
  }
  return sum;
}

void pg_work_flow(struct flow_work *w, uint8_t *area, const uint8_t *header,
                  uint32_t length, bool first)
{
  uint32_t sum = 0;
  if (first) {
    fill(w, area, header, length, w->flow_writes);
    sum = sum_up(w, area, w->flow_reads);
  }
  sum += sum_up(w, area, w->packet_reads);
  for (uint32_t i = 0; i < w->random.draws; i++)
    sum += draw(&w->random);
  fill(w, area, header, length, w->packet_writes);
  w->random.result = sum;
}
