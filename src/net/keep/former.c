/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a process that has ended, which the next one takes over one by one: each
 * when its key is looked up (recall.c), and the others in steps. Its file is mapped, and
 * what it says is checked where it is read: numbers are less than the file has records, a
 * record is copied before it is checked, and no index or list in the file is followed.
 *
 * The steps go through all records twice: they are put into buckets by when they go, then
 * taken from the last to the first, so that each is the oldest of its list.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "former_record.h"

enum {
  PER_OCTAVE = 8, LATEST = FORMER_BUCKETS - 1,
  SHRINK = 256 << 10 /* bytes that the kernel takes back at once */
};

static uint8_t *map(int fd, uint64_t size, int protection, int how)
{
  void *p = mmap(NULL, size, protection, how | MAP_NORESERVE, fd, 0);
  return p == MAP_FAILED ? NULL : p;
}

static uint64_t chain_bytes(const struct keep_former *f)
{
  return (uint64_t)f->top * sizeof *f->chain;
}

/* The records of a file that pg_keep_look() has found right. With `consume` those that are
 * asked for go from it. NULL, with errno. */
struct keep_former *pg_keep_former(int fd, const struct keep_file *file, bool consume)
{
  const struct keep_header *h = &file->header;
  struct keep_former *f = calloc(1, sizeof *f);
  if (!f)
    return NULL;
  *f = (struct keep_former){
    .file = -1, .hints_file = -1, .size = h->record_size, .age_at = h->age_at,
    .top = file->top, .at = 1, .bucket = FORMER_BUCKETS,
    .map_size = h->records_at + (uint64_t)file->top * h->record_size};
  f->copy = malloc(f->size);
  f->map = map(fd, f->map_size, PROT_READ | PROT_WRITE,
               consume ? MAP_SHARED : MAP_PRIVATE);
  void *chain = mmap(NULL, chain_bytes(f), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  f->chain = chain == MAP_FAILED ? NULL : chain;
  if (!f->copy || !f->map || !f->chain) {
    int error = errno;
    pg_keep_former_close(f);
    errno = error;
    return NULL;
  }
  f->file = consume ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
  f->map_left = f->map_size;
  f->record = f->map + h->records_at;
  f->in_use = (uint64_t *)(f->map + h->bits_at);
  return f;
}

/* No index asks any more; the one before it is asked instead. */
void pg_keep_former_leave(struct keep_former *f)
{
  for (uint32_t i = 0; i < f->indexes; i++)
    f->index[i]->former = f->next ? &f->next->ask : NULL;
  f->indexes = 0;
}

/* Give up a part of what is mapped of a file that others need, too. */
static bool unmap_end(struct keep_former *f)
{
  uint64_t left = f->map_size > 0 ? (f->map_size - 1) / SHRINK * SHRINK : 0;
  if (left < f->map_size)
    munmap(f->map + left, f->map_size - left);
  f->map_size = left;
  return left > 0;
}

static bool shrink(int fd, uint64_t *size)
{
  *size = *size > SHRINK ? *size - SHRINK : 0;
  return ftruncate(fd, (off_t)*size) == 0 && *size > 0;
}

/* Give a part of the files' memory back, after pg_keep_former_leave(), once they have no
 * names: at the end packets would wait for all of it. False: there is no more. */
bool pg_keep_former_shrink(struct keep_former *f)
{
  if (f->file < 0)
    return unmap_end(f);
  if (f->map_left > 0)
    return shrink(f->file, &f->map_left) || f->hints;
  return f->hints && f->hints_file >= 0 && shrink(f->hints_file, &f->hints_left);
}

void pg_keep_former_close(struct keep_former *f)
{
  pg_keep_former_leave(f);
  if (f->file >= 0)
    close(f->file);
  if (f->hints_file >= 0)
    close(f->hints_file);
  if (f->map && f->map_size > 0)
    munmap(f->map, f->map_size);
  if (f->hints)
    munmap(f->hints, f->hints_size);
  if (f->chain)
    munmap(f->chain, chain_bytes(f));
  free(f->copy);
  free(f);
}

/* How many there are still. */
uint64_t pg_keep_former_count(const struct keep_former *f)
{
  uint64_t n = 0;
  for (uint32_t i = 0; i < f->top; i += FORMER_BITS)
    n += (uint64_t)__builtin_popcountll(f->in_use[i / FORMER_BITS]);
  return n;
}

/* Nobody asks for the record again. */
static void take_out(struct keep_former *f, uint32_t number)
{
  f->in_use[number / FORMER_BITS] &= ~((uint64_t)1 << number % FORMER_BITS);
}

/* A copy is put into the table; then the record goes. In this order: a process that is
 * killed between the two leaves it twice. */
void pg_keep_former_use(struct keep_former *f, uint32_t number)
{
  memcpy(f->copy, former_record(f, number), f->size);
  if (f->own && !f->own(f->context, f->copy)) {
    take_out(f, number);
    return;
  }
  f->busy = true;
  uint32_t outcome = f->restore(f->context, f->copy, f->now);
  f->busy = false;
  f->outcome[outcome % FORMER_OUTCOMES]++;
  __asm__ volatile("" ::: "memory");
  take_out(f, number);
}

/* By how much is left, in parts of octaves: 512 buckets are all that there may be. */
static uint32_t bucket_of(const struct keep_former *f, uint32_t number)
{
  int64_t left;
  if (f->age_at == FLOW_NO_AGE ||
      __builtin_sub_overflow(pg_keep_expiry(former_record(f, number), f->age_at), f->now,
                             &left) || left <= 0)
    return 0;
  uint32_t octave = 63 - (uint32_t)__builtin_clzll((uint64_t)left);
  uint64_t part = octave < 3 ? (uint64_t)left << (3 - octave)
                             : (uint64_t)left >> (octave - 3);
  uint32_t bucket = octave * PER_OCTAVE + (uint32_t)(part & (PER_OCTAVE - 1));
  return bucket < LATEST ? bucket : LATEST;
}

/* Up to `most` more numbers are put into buckets. */
static uint32_t fill_buckets(struct keep_former *f, uint32_t most)
{
  uint32_t n = 0;
  for (; n < most && f->at < f->top; n++) {
    uint64_t bits = f->in_use[f->at / FORMER_BITS] >> f->at % FORMER_BITS;
    if (!bits) {
      f->at = (f->at / FORMER_BITS + 1) * FORMER_BITS;
      continue;
    }
    f->at += (uint32_t)__builtin_ctzll(bits);
    if (f->at >= f->top)
      break;
    uint32_t bucket = bucket_of(f, f->at);
    f->chain[f->at] = f->head[bucket];
    f->head[bucket] = f->at++;
  }
  return n;
}

/* The number of the next record, of up to `most` that are looked at; 0: of these there is
 * none, or, if f->done, of all. */
static uint32_t next_number(struct keep_former *f, uint32_t *most)
{
  if (f->at < f->top)
    *most -= fill_buckets(f, *most);
  while (*most > 0 && f->bucket > 0) {
    uint32_t *head = &f->head[f->oldest_first ? FORMER_BUCKETS - f->bucket
                                              : f->bucket - 1];
    uint32_t number = *head;
    if (!number) {
      f->bucket--;
      continue;
    }
    (*most)--;
    *head = f->chain[number];
    if (former_has(f, number))
      return number;
  }
  f->done = f->at >= f->top && f->bucket == 0;
  return 0;
}

/* A copy of the next record, for whom Lua restores it; it is taken
 * out at the next call. NULL as above. */
const void *pg_keep_former_next(struct keep_former *f, uint32_t most)
{
  if (f->last)
    take_out(f, f->last);
  f->last = next_number(f, &most);
  if (!f->last)
    return NULL;
  memcpy(f->copy, former_record(f, f->last), f->size);
  return f->copy;
}

/* Show all records, in no order. */
void pg_keep_former_see(const struct keep_former *f, keep_see see, void *context)
{
  for (uint32_t i = 1; i < f->top; i++)
    if (former_has(f, i)) {
      memcpy(f->copy, former_record(f, i), f->size);
      if (!f->own || f->own(context, f->copy))
        see(context, f->copy);
    }
}

/* Use up to `most` records, as of `now`. False: there are no others. */
bool pg_keep_former_step(struct keep_former *f, int64_t now, uint32_t most)
{
  f->now = now;
  for (uint32_t number; (number = next_number(f, &most));)
    pg_keep_former_use(f, number);
  return !f->done && !f->ask.forget;
}
