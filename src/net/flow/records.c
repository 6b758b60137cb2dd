/* SPDX-License-Identifier: Apache-2.0
 *
 * Records, which stay where they are: free ones are a list, those in use have a bit, so
 * that one can go through them while others come and go. And lists of records by age:
 * all of a list have the same time to live, so that lists need no sorting.
 */
#include "find.h"

enum { BITS = 64, FILE_PAGE = 4096 };

/* Where records lie in a file whose bits begin at `bits`. */
uint64_t pg_flow_records_begin(uint64_t bits, uint64_t most)
{
  uint64_t bytes = (most / BITS + 1) * sizeof(uint64_t);
  return bits + (bytes + FILE_PAGE - 1) / FILE_PAGE * FILE_PAGE;
}

/* Room for `most` records of `size` bytes, at least 8; `age_at` is where their age is, or
 * FLOW_NO_AGE. False if there is no memory. */
bool pg_flow_records_open(struct flow_records *r, uint32_t size, uint32_t age_at,
                          uint32_t most)
{
  *r = (struct flow_records){.size = size, .age_at = age_at, .top = 1, .most = most};
  uint64_t begin = pg_flow_records_begin(FLOW_FILE_BITS, most);
  if (!pg_flow_memory_reserve_for(&r->memory, ((uint64_t)most + 1) * size, begin) ||
      !pg_flow_memory_reserve(&r->bits, ((uint64_t)most / BITS + 1) * sizeof(uint64_t)) ||
      !pg_flow_memory_extend(&r->memory, size) ||
      !pg_flow_memory_extend(&r->bits, sizeof(uint64_t))) {
    pg_flow_records_close(r);
    return false;
  }
  r->record = r->memory.at;
  r->in_use = (uint64_t *)r->bits.at;
  return true;
}

void pg_flow_records_close(struct flow_records *r)
{
  pg_flow_memory_free(&r->memory);
  pg_flow_memory_free(&r->bits);
}

static bool extend(struct flow_records *r)
{
  return r->top <= r->most &&
         pg_flow_memory_extend(&r->memory, ((uint64_t)r->top + 1) * r->size) &&
         pg_flow_memory_extend(&r->bits, ((uint64_t)r->top / BITS + 1) * sizeof(uint64_t));
}

/* What is kept is what had been stored when the process was killed: stores aren't moved
 * across this. */
static void in_this_order(void) { __asm__ volatile("" ::: "memory"); }

/* A record, whose bytes are as they were; 0 if there is no room. It isn't in use before
 * pg_flow_records_complete(). */
uint32_t pg_flow_records_take(struct flow_records *r)
{
  uint32_t number = r->spare;
  if (number)
    memcpy(&r->spare, flow_record(r, number), sizeof r->spare);
  else if (extend(r))
    number = r->top++;
  else
    return 0;
  r->count++;
  return number;
}

/* The record has its key and its values: by one store it is in use. */
void pg_flow_records_complete(struct flow_records *r, uint32_t number)
{
  in_this_order();
  r->in_use[number / BITS] |= (uint64_t)1 << number % BITS;
}

/* Its first 4 bytes are another's number from now on. */
void pg_flow_records_give(struct flow_records *r, uint32_t number)
{
  r->in_use[number / BITS] &= ~((uint64_t)1 << number % BITS);
  in_this_order();
  memcpy(flow_record(r, number), &r->spare, sizeof r->spare);
  r->spare = number;
  r->count--;
}

/* The records lie in a file from now on, at their addresses: the bits that say which are
 * in use from `bits` on, themselves from `records` on (net/keep). False, with errno:
 * nothing has changed that matters. */
bool pg_flow_records_share(struct flow_records *r, int32_t file, uint64_t bits,
                           uint64_t records)
{
  uint64_t words = (uint64_t)(r->top - 1) / BITS + 1;
  return pg_flow_memory_share(&r->memory, (uint64_t)r->top * r->size, file, records) &&
         pg_flow_memory_share(&r->bits, words * sizeof(uint64_t), file, bits);
}

/* The first record in use behind that number, or 0. */
uint32_t pg_flow_records_next(const struct flow_records *r, uint32_t number)
{
  number++;
  while (number < r->top) {
    uint64_t bits = r->in_use[number / BITS] >> number % BITS;
    if (bits)
      return number + (uint32_t)__builtin_ctzll(bits);
    number = (number / BITS + 1) * BITS;
  }
  return 0;
}

/* The record is the newest of the list, until then. */
void pg_flow_link(struct flow_records *r, struct flow_list *list, uint32_t number,
                  int64_t expiry)
{
  struct flow_age *age = flow_age_of(r, number);
  age->expiry = expiry;
  age->queued = (uint32_t)expiry;
  age->older = list->newest;
  age->newer = 0;
  if (list->newest)
    flow_age_of(r, list->newest)->newer = number;
  else
    list->oldest = number;
  list->newest = number;
}

/* The record is the oldest or the newest of the list, until then: that one of the two whose
 * expiry is nearer. */
void pg_flow_link_end(struct flow_records *r, struct flow_list *list, uint32_t number,
                        int64_t expiry)
{
  struct flow_age *age = flow_age_of(r, number);
  struct flow_age *first = list->oldest ? flow_age_of(r, list->oldest) : NULL;
  if (!first || expiry - first->expiry > flow_age_of(r, list->newest)->expiry - expiry) {
    pg_flow_link(r, list, number, expiry);
    return;
  }
  age->expiry = expiry;
  age->queued = (uint32_t)expiry;
  age->newer = list->oldest;
  age->older = 0;
  first->older = number;
  list->oldest = number;
}

void pg_flow_unlink(struct flow_records *r, struct flow_list *list, uint32_t number)
{
  const struct flow_age *age = flow_age_of(r, number);
  if (age->older)
    flow_age_of(r, age->older)->newer = age->newer;
  else
    list->oldest = age->newer;
  if (age->newer)
    flow_age_of(r, age->newer)->older = age->older;
  else
    list->newest = age->older;
}
