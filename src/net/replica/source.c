/* SPDX-License-Identifier: Apache-2.0
 *
 * What has changed in a file of kept records since the last batch to the other host: it is
 * read in chunks, never mapped, and compared. The process that writes it isn't asked and
 * doesn't wait. It may write while a record is read, so what has changed is read twice,
 * and put off to the next sweep if the two differ.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../flow/hints.h"
#include "replica.h"

enum {
  BITS = 64, CHUNK = 256 << 10, /* bytes that stay in a cache */
  WORD = sizeof(uint64_t), NUMBER = sizeof(uint32_t),
  PART = 8,                     /* an expiry that differs by this part of what is left */
  LEAST_PER_SECOND = 10         /* or, if that is less, by a tenth of a second */
};

/* Bytes of a record's age that say where it is in a list: the other host has lists of
 * its own. The expiry, which lies between them, is compared by itself. */
enum { AGE_LINKS = offsetof(struct flow_age, list) };

static uint32_t chunk_records(const struct replica_source *s)
{
  uint32_t n = CHUNK / s->size / BITS * BITS;
  return n ? n : BITS;
}

static uint64_t chunk_bytes(const struct replica_source *s)
{
  return (uint64_t)chunk_records(s) * s->size;
}

static uint64_t has_bytes(const struct replica_source *s)
{
  return (s->most / BITS + 1) * WORD;
}

static uint64_t copy_bytes(const struct replica_source *s)
{
  return (s->most + 1) * s->size;
}

static void *reserve(uint64_t bytes)
{
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

/* A file that keep_look() has found right; its descriptor is duplicated. `per_second`:
 * units of an expiry, of CLOCK_MONOTONIC. False, with errno: it can't be. */
bool pg_replica_open(struct replica_source *s, int fd, const struct keep_file *f,
                     int64_t per_second)
{
  const struct keep_header *h = &f->header;
  *s = (struct replica_source){
    .fd = -1, .size = h->record_size, .age_at = h->age_at, .most = h->most,
    .bits_at = h->bits_at, .records_at = h->records_at, .per_second = per_second,
    .room = h->record_size + NUMBER + WORD};
  s->has = reserve(has_bytes(s));
  s->copy = reserve(copy_bytes(s));
  s->chunk = malloc(chunk_bytes(s));
  s->again = malloc(chunk_bytes(s));
  s->bits = malloc(chunk_records(s) / BITS * WORD);
  s->still = malloc(chunk_records(s) / BITS * WORD);
  s->fd = dup(fd);
  if (s->has && s->copy && s->chunk && s->again && s->bits && s->still && s->fd >= 0)
    return true;
  int error = errno;
  pg_replica_close(s);
  errno = error;
  return false;
}

void pg_replica_close(struct replica_source *s)
{
  if (s->has)
    munmap(s->has, has_bytes(s));
  if (s->copy)
    munmap(s->copy, copy_bytes(s));
  free(s->chunk);
  free(s->again);
  free(s->bits);
  free(s->still);
  if (s->fd >= 0)
    close(s->fd);
  *s = (struct replica_source){.fd = -1};
}

/* A sweep begins. False, with errno, if the file can't be looked at. */
bool pg_replica_begin(struct replica_source *s)
{
  struct stat found;
  if (fstat(s->fd, &found))
    return false;
  uint64_t size = (uint64_t)found.st_size;
  uint64_t top = size < s->records_at ? 0 : (size - s->records_at) / s->size;
  s->top = (uint32_t)(top > s->most ? s->most + 1 : top);
  s->at = 0;
  return true;
}

static bool get(int fd, void *to, uint64_t bytes, uint64_t at)
{
  for (uint64_t done = 0; done < bytes;) {
    ssize_t n = pread(fd, (char *)to + done, bytes - done, (off_t)(at + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n == 0)
      errno = EPIPE; /* it has been cut off */
    if (n <= 0)
      return false;
    done += (uint64_t)n;
  }
  return true;
}

static int64_t expiry_of(const struct replica_source *s, const uint8_t *record)
{
  return s->age_at == FLOW_NO_AGE ? 0 : pg_keep_expiry(record, s->age_at);
}

/* Are two records the same, but for their expiry and their place in a list? */
static bool is_same(const struct replica_source *s, const uint8_t *a, const uint8_t *b)
{
  if (s->age_at == FLOW_NO_AGE)
    return !memcmp(a, b, s->size);
  uint32_t behind = s->age_at + AGE_LINKS;
  return !memcmp(a, b, s->age_at) && !memcmp(a + behind, b + behind, s->size - behind);
}

static int64_t minus(int64_t a, int64_t b) /* without overflow */
{
  int64_t difference;
  if (__builtin_sub_overflow(a, b, &difference))
    return a < b ? INT64_MIN : INT64_MAX;
  return difference;
}

static uint64_t size_of(int64_t n) { return n < 0 ? -(uint64_t)n : (uint64_t)n; }

/* Does the other host have an expiry that is too far off? */
static bool is_off(const struct replica_source *s, int64_t had, int64_t expiry,
                   int64_t now)
{
  uint64_t off = size_of(minus(expiry, had));
  uint64_t least = (uint64_t)s->per_second / LEAST_PER_SECOND;
  uint64_t part = size_of(minus(expiry, now)) / PART;
  return off > 0 && off >= (part > least ? part : least);
}

static uint8_t *copy_of(const struct replica_source *s, uint32_t number)
{
  return s->copy + (uint64_t)number * s->size;
}

static uint8_t *put(uint8_t *to, const void *from, size_t bytes)
{
  memcpy(to, from, bytes);
  return to + bytes;
}

static uint8_t *put_kind(uint8_t *to, uint32_t number, uint32_t kind)
{
  uint32_t word = number | kind << REPLICA_KIND;
  return put(to, &word, sizeof word);
}

static uint8_t *put_record(struct replica_source *s, uint8_t *to, uint32_t number,
                           const uint8_t *record)
{
  uint8_t *copy = copy_of(s, number);
  memcpy(copy, record, s->size);
  if (s->age_at != FLOW_NO_AGE) {
    struct flow_age *age = (struct flow_age *)(copy + s->age_at);
    age->older = age->newer = age->queued = 0;
  }
  uint64_t bit = (uint64_t)1 << number % BITS;
  s->there += !(s->has[number / BITS] & bit);
  s->has[number / BITS] |= bit;
  s->records++;
  return put(put_kind(to, number, REPLICA_RECORD), copy, s->size);
}

static uint8_t *put_removed(struct replica_source *s, uint8_t *to, uint32_t number)
{
  s->has[number / BITS] &= ~((uint64_t)1 << number % BITS);
  s->there--;
  s->removed++;
  return put_kind(to, number, REPLICA_REMOVED);
}

static uint8_t *put_age(struct replica_source *s, uint8_t *to, uint32_t number,
                        int64_t expiry)
{
  memcpy(copy_of(s, number) + s->age_at + offsetof(struct flow_age, expiry), &expiry,
         sizeof expiry);
  s->ages++;
  return put(put_kind(to, number, REPLICA_AGE), &expiry, sizeof expiry);
}

enum change { NOTHING, RECORD, AGE };

static enum change changed(const struct replica_source *s, uint32_t number,
                           const uint8_t *record, int64_t now)
{
  if (!(s->has[number / BITS] >> number % BITS & 1) ||
      !is_same(s, copy_of(s, number), record))
    return RECORD;
  if (is_off(s, expiry_of(s, copy_of(s, number)), expiry_of(s, record), now))
    return AGE;
  return NOTHING;
}

static bool read_bits(const struct replica_source *s, uint32_t first, uint32_t n,
                      uint64_t *bits)
{
  return get(s->fd, bits, ((uint64_t)(n - 1) / BITS + 1) * WORD,
             s->bits_at + first / BITS * WORD);
}

static bool read_records(const struct replica_source *s, uint32_t first, uint32_t n,
                         uint8_t *records)
{
  return get(s->fd, records, (uint64_t)n * s->size,
             s->records_at + (uint64_t)first * s->size);
}

/* A chunk: records from `first` on, up to `behind`. */
struct chunk { uint32_t first, behind; bool looked; };

/* The second look at a chunk, once something in it has changed. */
static bool look_again(struct replica_source *s, struct chunk *c)
{
  uint32_t n = c->behind - c->first;
  bool good = c->looked || (read_records(s, c->first, n, s->again) &&
                            read_bits(s, c->first, n, s->still));
  c->looked = good;
  return good;
}

/* What is to be said of a record in use. NULL, with errno: it can't be read again. */
static uint8_t *put_change(struct replica_source *s, struct chunk *c, uint32_t number,
                           int64_t now, uint8_t *to)
{
  uint32_t in_chunk = number - c->first;
  const uint8_t *record = s->chunk + (uint64_t)in_chunk * s->size;
  const uint8_t *again = s->again + (uint64_t)in_chunk * s->size;
  enum change change = changed(s, number, record, now);
  if (change == NOTHING)
    return to;
  if (!look_again(s, c))
    return NULL;
  if (!(s->still[in_chunk / BITS] >> number % BITS & 1) || !is_same(s, record, again)) {
    s->unsteady++;
    return to;
  }
  return change == AGE ? put_age(s, to, number, expiry_of(s, again))
                       : put_record(s, to, number, again);
}

/* Entries of the 64 records of s->at from it on; s->at is behind those that have been
 * looked at. NULL, with errno: they can't be read. */
static uint8_t *sweep_word(struct replica_source *s, struct chunk *c, int64_t now,
                           uint8_t *to, const uint8_t *end)
{
  uint32_t first = s->at / BITS * BITS;
  uint64_t in_use = s->bits[(first - c->first) / BITS];
  uint64_t left = (in_use | s->has[first / BITS]) & ~(uint64_t)0 << s->at % BITS;
  if (first == 0)
    left &= ~(uint64_t)1; /* number 0 is no record */
  for (; left && to; left &= left - 1) {
    uint32_t number = first + (uint32_t)__builtin_ctzll(left);
    if (number >= c->behind)
      break;
    s->at = number;
    if ((uint64_t)(end - to) < s->room)
      return to;
    to = in_use >> number % BITS & 1 ? put_change(s, c, number, now, to)
                                     : put_removed(s, to, number);
  }
  s->at = first + BITS < c->behind ? first + BITS : c->behind;
  return to;
}

/* Is there a record in the chunk, here or there? */
static bool has_any(const struct replica_source *s, const struct chunk *c)
{
  uint64_t any = 0;
  for (uint32_t i = c->first; i < c->behind; i += BITS)
    any |= s->bits[(i - c->first) / BITS] | s->has[i / BITS];
  return any != 0;
}

/* Entries of what has changed from s->at on, as many as there is room for: how many
 * bytes. The sweep is over when s->at is s->top. `now` is in units of expiries; room is
 * at least s->room. -1, with errno: the file can't be read. */
int64_t pg_replica_sweep(struct replica_source *s, int64_t now, uint8_t *to,
                         uint64_t room)
{
  uint8_t *p = to, *end = to + room;
  while (s->at < s->top) {
    struct chunk c = {.first = s->at / BITS * BITS};
    uint32_t n = chunk_records(s);
    c.behind = n < s->top - c.first ? c.first + n : s->top;
    if (!read_bits(s, c.first, c.behind - c.first, s->bits))
      return -1;
    if (!has_any(s, &c)) {
      s->at = c.behind;
      continue;
    }
    if (!read_records(s, c.first, c.behind - c.first, s->chunk))
      return -1;
    while (s->at < c.behind) {
      p = sweep_word(s, &c, now, p, end);
      if (!p)
        return -1;
      if (s->at < c.behind && (uint64_t)(end - p) < s->room)
        return p - to;
    }
  }
  return p - to;
}

/* The keys that the hints in a file are about; none if these can't be used. */
struct replica_keys pg_replica_keys(int fd)
{
  struct flow_hint_header h;
  if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h || memcmp(h.magic, "PGHINTS", 8) ||
      h.version != HINT_VERSION || h.size != sizeof h || h.complete != 1)
    return (struct replica_keys){0};
  return (struct replica_keys){h.key_at, h.key_size, h.keys};
}
