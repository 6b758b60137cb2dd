/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "numbers.h"

enum { WORD = 64 };

static uint32_t words_for(uint32_t bits) { return (bits + WORD - 1) / WORD; }

/* What lies behind the last of n bits counts as marked. */
static void fill_rest(uint64_t *bits, uint32_t n)
{
  if (n % WORD)
    bits[n / WORD] = ~0ull << n % WORD;
}

/* Numbers up to n (1 to FLOW_NUMBERS_MOST), of which none is marked; NULL if there is no
 * memory. */
struct flow_numbers *pg_flow_numbers_new(uint32_t n)
{
  uint64_t words = 0;
  for (uint32_t bits = n, more = 1; more; bits = words_for(bits)) {
    words += words_for(bits);
    more = bits > WORD;
  }
  struct flow_numbers *s = calloc(1, sizeof *s + words * sizeof(uint64_t));
  if (!s)
    return NULL;
  uint64_t *at = s->memory;
  uint32_t bits = n;
  for (int level = 0; level < FLOW_NUMBERS_LEVELS; level++) {
    s->bits[level] = at;
    s->words[level] = words_for(bits);
    fill_rest(at, bits);
    at += s->words[level];
    if (bits <= WORD)
      break;
    bits = s->words[level];
  }
  return s;
}

void pg_flow_numbers_free(struct flow_numbers *s) { free(s); }

bool pg_flow_numbers_has(const struct flow_numbers *s, uint32_t number)
{
  return s->bits[0][number / WORD] >> number % WORD & 1;
}

/* True if it wasn't marked before. */
bool pg_flow_numbers_mark(struct flow_numbers *s, uint32_t number)
{
  if (pg_flow_numbers_has(s, number))
    return false;
  for (int level = 0; level < FLOW_NUMBERS_LEVELS && s->words[level]; level++) {
    uint64_t *word = &s->bits[level][number / WORD];
    *word |= 1ull << number % WORD;
    if (~*word)
      break;
    number /= WORD;
  }
  return true;
}

/* True if it was marked before. */
bool pg_flow_numbers_unmark(struct flow_numbers *s, uint32_t number)
{
  if (!pg_flow_numbers_has(s, number))
    return false;
  for (int level = 0; level < FLOW_NUMBERS_LEVELS && s->words[level]; level++) {
    uint64_t *word = &s->bits[level][number / WORD];
    bool full = !~*word;
    *word &= ~(1ull << number % WORD);
    if (!full)
      break;
    number /= WORD;
  }
  return true;
}

/* The first that isn't marked, from `from` on; -1: there is none. */
int64_t pg_flow_numbers_next(const struct flow_numbers *s, uint32_t from)
{
  uint64_t at = from;
  for (int level = 0; level < FLOW_NUMBERS_LEVELS; level++) {
    if (at / WORD >= s->words[level])
      return -1;
    uint64_t clear = ~s->bits[level][at / WORD] >> at % WORD;
    if (clear) {
      at += (uint64_t)__builtin_ctzll(clear);
      while (level-- > 0)
        at = at * WORD + (uint64_t)__builtin_ctzll(~s->bits[level][at]);
      return (int64_t)at;
    }
    at = at / WORD + 1;
  }
  return -1;
}
