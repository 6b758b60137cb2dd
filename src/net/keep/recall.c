/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds records of a process that has ended by their keys, which an index of this one hasn't.
 * Hints say which numbers they may have; the key of a record decides.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../flow/find.h"
#include "../flow/hints.h"
#include "former_record.h"

enum { BLOCK = 512 /* bytes, of st_blocks */ };

static const struct flow_hint_header *header_of(const struct keep_former *f)
{
  return (const struct flow_hint_header *)f->hints;
}

/* Use the record that the entry `number` of an index was of, if that key is there. */
static bool use_hint(struct keep_former *f, uint32_t number, const struct flow_index *x,
                     const void *key)
{
  uint32_t record = number >> x->key_shift, which = number & x->key_shift;
  if (!former_has(f, record) ||
      !flow_same_key(former_record(f, record) + x->key_at + which * x->key_size, key,
                     x->key_size))
    return false;
  pg_keep_former_use(f, record);
  return true;
}

static uint32_t found(struct keep_former *f, const struct flow_index *x, const void *key)
{
  f->busy = true;
  uint32_t number = pg_flow_index_find(x, key, pg_flow_index_hash(x, key));
  f->busy = false;
  return number;
}

static uint32_t levels_of(const struct keep_former *f)
{
  uint32_t levels = 0;
  while (levels < HINT_LEVELS &&
         HINT_HEADER + (uint64_t)hint_first(levels + 1) * sizeof(struct flow_hint_line)
           <= f->hints_size)
    levels++;
  return levels;
}

static uint32_t recall_from(struct keep_former *f, struct flow_index *x, const void *key)
{
  const struct flow_hint_line *line =
    (const struct flow_hint_line *)(f->hints + HINT_HEADER);
  uint32_t hash = flow_hash_of(header_of(f)->secret, key, x->key_size);
  for (uint32_t level = levels_of(f); level-- > 0;) {
    const struct flow_hint_line *pair = &line[hint_line(level, hash)];
    for (uint32_t i = 0; i < 2 * HINT_PLACES; i++) {
      const struct flow_hint_line *one = &pair[i / HINT_PLACES];
      uint32_t place = i % HINT_PLACES, number;
      if (one->tag[place] == hint_tag(hash) && one->number[place] &&
          use_hint(f, one->number[place], x, key) && (number = found(f, x, key)))
        return number;
    }
  }
  return 0;
}

static uint32_t recall(struct flow_former *ask, struct flow_index *x, const void *key)
{
  struct keep_former *f = (struct keep_former *)ask;
  uint32_t number = 0;
  for (struct keep_former *one = f; one; one = one->next)
    if (one->busy)
      return 0;
  for (; f && !number; f = f->next)
    if (!f->ask.forget)
      number = recall_from(f, x, key);
  return number;
}

/* There are hints in that file about the file with that inode. False: they can't be
 * used. */
bool pg_keep_former_hints(struct keep_former *f, int fd, uint64_t inode)
{
  struct stat s;
  if (fstat(fd, &s) || !S_ISREG(s.st_mode) || s.st_uid != geteuid() ||
      s.st_mode & 077 || s.st_nlink > 1 || s.st_size < HINT_HEADER ||
      (uint64_t)s.st_blocks * BLOCK < (uint64_t)s.st_size) /* holes need memory */
    return false;
  f->hints_size = (uint64_t)s.st_size;
  void *hints = mmap(NULL, f->hints_size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (hints == MAP_FAILED)
    return false;
  f->hints = hints;
  const struct flow_hint_header *h = header_of(f);
  if (!memcmp(h->magic, "PGHINTS", 8) && h->version == HINT_VERSION &&
      h->size == sizeof *h && h->inode == inode && h->complete == 1) {
    f->hints_file = f->file < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    f->hints_left = f->hints_size;
    return true;
  }
  munmap(f->hints, f->hints_size);
  f->hints = NULL;
  return false;
}

/* The index asks for keys that it hasn't. */
void pg_keep_former_ask(struct keep_former *f, struct flow_index *x)
{
  if (f->indexes == FORMER_INDEXES ||
      x->key_at + (x->key_shift + 1) * (uint64_t)x->key_size > f->size)
    return;
  f->ask.recall = recall;
  f->index[f->indexes++] = x;
  x->former = &f->ask;
}
