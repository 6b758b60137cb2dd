/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of records: looked at, read, begun. What a file says is believed where it can be
 * checked: its sizes are compared with those that this program would have written, its
 * records are copied, and no number in them leads anywhere. A file is read, never
 * mapped, before this process has written it: one that is cut off meanwhile is an error
 * and no signal.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../flow/find.h"
#include "keep.h"

enum { BITS = 64, BLOCK = 512, FEWEST = 8, LARGEST = 1 << 16 };
static const char MAGIC[8] = "PERIGEE";
_Static_assert(sizeof(struct keep_header) <= KEEP_HEADER, "a page");
_Static_assert(KEEP_HEADER + KEEP_NOTES == FLOW_FILE_BITS, "as records.c has it");

/* FNV-1a, 64 bits. */
static uint64_t sum_of(const struct keep_header *h)
{
  const uint8_t *bytes = (const uint8_t *)h;
  uint64_t sum = 0xcbf29ce484222325;
  for (size_t i = 0; i < offsetof(struct keep_header, sum); i++)
    sum = (sum ^ bytes[i]) * 0x100000001b3;
  return sum;
}

/* The header is whole. */
void pg_keep_set_sum(struct keep_header *h) { h->sum = sum_of(h); }

static bool transfer(int fd, void *to, const void *from, uint64_t bytes, uint64_t at)
{
  for (uint64_t done = 0; done < bytes;) {
    ssize_t n = to ? pread(fd, (char *)to + done, bytes - done, (off_t)(at + done))
                   : pwrite(fd, (const char *)from + done, bytes - done,
                            (off_t)(at + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    done += (uint64_t)n;
  }
  return true;
}

/* Say why the file isn't used; false. */
__attribute__((format(printf, 2, 3)))
static bool refuse(struct keep_file *f, const char *format, ...)
{
  va_list values;
  va_start(values, format);
  vsnprintf(f->problem, sizeof f->problem, format, values);
  va_end(values);
  return false;
}

static bool is_text(const char *text, size_t room) { return memchr(text, 0, room); }

static bool has_right_places(const struct keep_header *h)
{
  return h->header_size == KEEP_HEADER && h->record_size >= FEWEST &&
         h->record_size <= LARGEST && h->most >= 1 && h->most <= FLOW_MOST &&
         (h->age_at == FLOW_NO_AGE ||
          (h->age_at % 8 == 0 &&
           (uint64_t)h->age_at + sizeof(struct flow_age) <= h->record_size)) &&
         h->notes_at == KEEP_HEADER && h->bits_at == h->notes_at + KEEP_NOTES &&
         h->records_at == pg_flow_records_begin(h->bits_at, h->most);
}

static bool check_header(struct keep_file *f)
{
  const struct keep_header *h = &f->header;
  if (memcmp(h->magic, MAGIC, sizeof MAGIC))
    return refuse(f, "is no file of kept records");
  if (h->version != KEEP_VERSION)
    return refuse(f, "has version %u, and this program reads %u", h->version,
                  KEEP_VERSION);
  if (h->sum != sum_of(h))
    return refuse(f, "has a header that doesn't match its checksum");
  if (!is_text(h->boot, sizeof h->boot) || !is_text(h->release, sizeof h->release) ||
      !is_text(h->of, sizeof h->of) || !is_text(h->layout, sizeof h->layout))
    return refuse(f, "has names without an end");
  if (!has_right_places(h))
    return refuse(f, "has sizes that no file of version %u has", KEEP_VERSION);
  if (h->notes_size > KEEP_NOTES)
    return refuse(f, "has %llu bytes of notes, of %u",
                  (unsigned long long)h->notes_size, KEEP_NOTES);
  return true;
}

/* Is the file one that this user made, and can it be used? f->problem says why not. */
bool pg_keep_look(int fd, struct keep_file *f)
{
  struct stat s;
  memset(f, 0, sizeof *f);
  if (fstat(fd, &s))
    return refuse(f, "can't be looked at: %s", strerror(errno));
  if (!S_ISREG(s.st_mode))
    return refuse(f, "is no ordinary file");
  if (s.st_uid != geteuid())
    return refuse(f, "belongs to the user %u", s.st_uid);
  if (s.st_mode & 077)
    return refuse(f, "is open to other users: its mode is %03o", s.st_mode & 0777);
  if (s.st_nlink > 1)
    return refuse(f, "has %lu names", (unsigned long)s.st_nlink);
  f->size = (uint64_t)s.st_size;
  f->inode = s.st_ino;
  if (f->size < KEEP_HEADER ||
      !transfer(fd, &f->header, NULL, sizeof f->header, 0))
    return refuse(f, "ends within its header");
  if (!check_header(f))
    return false;
  if (f->size < f->header.records_at + f->header.record_size)
    return refuse(f, "ends before its records");
  uint64_t stored = f->size - f->header.records_at;
  if ((uint64_t)s.st_blocks * BLOCK < stored)
    return refuse(f, "has holes");
  uint64_t top = stored / f->header.record_size;
  f->top = (uint32_t)(top > f->header.most ? f->header.most + 1 : top);
  return true;
}

/* The notes; how many bytes they have, or -1. */
int64_t pg_keep_notes(int fd, const struct keep_file *f, char *text, uint64_t room)
{
  uint64_t n = f->header.notes_size;
  if (n > room || !transfer(fd, text, NULL, n, f->header.notes_at))
    return -1;
  return (int64_t)n;
}

/* Reading ---------------------------------------------------------------------------- */

struct place { int64_t expiry; uint32_t number; };

static int compare(const void *a, const void *b)
{
  const struct place *x = a, *y = b;
  if (x->expiry != y->expiry)
    return x->expiry < y->expiry ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

/* When the record goes; 0 if it has no age. */
int64_t pg_keep_expiry(const void *record, uint32_t age_at)
{
  int64_t expiry = 0;
  if (age_at != FLOW_NO_AGE)
    memcpy(&expiry, (const uint8_t *)record + age_at + offsetof(struct flow_age, expiry),
           sizeof expiry);
  return expiry;
}

static uint32_t count_of(const uint64_t *bits, uint32_t words)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < words; i++)
    n += (uint32_t)__builtin_popcountll(bits[i]);
  return n;
}

/* Of all the file's records at `all` those in use are put together, oldest first. */
static bool collect(const struct keep_file *f, const uint64_t *bits, const uint8_t *all,
                    struct keep_records *found)
{
  const uint32_t size = f->header.record_size;
  struct place *place = malloc(((size_t)found->n + 1) * sizeof *place);
  found->record = malloc((size_t)found->n * size + 1);
  if (place && found->record) {
    uint32_t n = 0;
    for (uint32_t i = 1; i < f->top && n < found->n; i++)
      if (bits[i / BITS] >> i % BITS & 1)
        place[n++] = (struct place){
          pg_keep_expiry(all + (size_t)i * size, f->header.age_at), i};
    found->n = n;
    qsort(place, n, sizeof *place, compare);
    for (uint32_t i = 0; i < n; i++)
      memcpy(found->record + (size_t)i * size, all + (size_t)place[i].number * size, size);
  }
  bool done = place && found->record;
  free(place);
  return done;
}

/* Copies of the records in use, `most` at most, to be freed. f->problem says why not. */
bool pg_keep_read(int fd, struct keep_file *f, uint32_t most, struct keep_records *found)
{
  const struct keep_header *h = &f->header;
  uint32_t words = f->top / BITS + 1;
  *found = (struct keep_records){.size = h->record_size};
  uint64_t *bits = calloc(words, sizeof *bits);
  uint8_t *all = malloc((size_t)f->top * h->record_size);
  bool done = false;
  if (!bits || !all) {
    refuse(f, "needs more memory than there is");
  } else if (!transfer(fd, bits, NULL, words * sizeof *bits, h->bits_at) ||
             !transfer(fd, all, NULL, (uint64_t)f->top * h->record_size, h->records_at)) {
    refuse(f, "can't be read to its end");
  } else {
    found->n = count_of(bits, words);
    if (found->n > most)
      found->n = most;
    done = collect(f, bits, all, found);
    if (!done)
      refuse(f, "needs more memory than there is");
  }
  free(bits);
  free(all);
  if (!done)
    pg_keep_free(found);
  return done;
}

void pg_keep_free(struct keep_records *found)
{
  free(found->record);
  *found = (struct keep_records){0};
}

/* Writing ---------------------------------------------------------------------------- */

/* The records lie in the new, empty file from now on, under the header, of which boot,
 * release, of and layout are filled in. False, with errno: they don't. */
bool pg_keep_begin(int fd, struct keep_header *h, struct flow_records *r,
                   const char *notes, uint64_t notes_size)
{
  if (notes_size > KEEP_NOTES) {
    errno = EFBIG;
    return false;
  }
  memcpy(h->magic, MAGIC, sizeof MAGIC);
  h->version = KEEP_VERSION;
  h->header_size = KEEP_HEADER;
  h->record_size = r->size;
  h->age_at = r->age_at;
  h->most = r->most;
  h->notes_at = KEEP_HEADER;
  h->bits_at = h->notes_at + KEEP_NOTES;
  h->records_at = pg_flow_records_begin(h->bits_at, h->most);
  h->notes_size = notes_size;
  pg_keep_set_sum(h);
  return transfer(fd, NULL, h, sizeof *h, 0) &&
         transfer(fd, NULL, notes, notes_size, h->notes_at) &&
         pg_flow_records_share(r, fd, h->bits_at, h->records_at);
}
