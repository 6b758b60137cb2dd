/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of many patterns occur in a packet. Patterns are compiled so that each is
 * reported once (HS_FLAG_SINGLEMATCH), and numbered from 0.
 */
#include "patterns.h"

typedef int (*on_match)(unsigned id, unsigned long long from, unsigned long long to,
                        unsigned flags, void *context);
typedef int (*scan_block)(const void *database, const char *data, unsigned length,
                          unsigned flags, void *scratch, on_match f, void *context);

enum { GO_ON = 0, ENOUGH = 1 }; /* what on_match returns */

static void scan(const struct patterns *p, const uint8_t *data, uint32_t n, on_match f,
                 int32_t *found)
{
  ((scan_block)p->scan)(p->database, (const char *)data, n, 0, p->scratch, f, found);
}

#define ON_MATCH(name) \
  static int name(unsigned id, unsigned long long from, unsigned long long to, \
                  unsigned flags, void *context)

ON_MATCH(note_any)
{
  (void)id, (void)from, (void)to, (void)flags;
  *(int32_t *)context = 1;
  return ENOUGH;
}

ON_MATCH(note_first)
{
  (void)from, (void)to, (void)flags;
  int32_t *first = context, number = (int32_t)id + 1;
  if (*first == 0 || number < *first)
    *first = number;
  return number == 1 ? ENOUGH : GO_ON;
}

ON_MATCH(note_each)
{
  (void)id, (void)from, (void)to, (void)flags;
  ++*(int32_t *)context;
  return GO_ON;
}

/* 1 if one of the patterns occurs in the `n` bytes, else 0. */
int32_t pg_patterns_any(const struct patterns *p, const uint8_t *data, uint32_t n)
{
  int32_t found = 0;
  scan(p, data, n, note_any, &found);
  return found;
}

/* The number of the first pattern, from 1 on, that occurs in the `n` bytes, or 0. */
int32_t pg_patterns_first(const struct patterns *p, const uint8_t *data, uint32_t n)
{
  int32_t found = 0;
  scan(p, data, n, note_first, &found);
  return found;
}

/* How many of the patterns occur in the `n` bytes. */
int32_t pg_patterns_count(const struct patterns *p, const uint8_t *data, uint32_t n)
{
  int32_t found = 0;
  scan(p, data, n, note_each, &found);
  return found;
}
