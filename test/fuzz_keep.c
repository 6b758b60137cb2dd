/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of kept records (src/net/keep) that somebody has changed: fuzz_keep FOLDER N [SEED]
 * writes a table's file and its hints, changes bytes of both, N times, and goes on with
 * them: by key, and in steps. Nothing may be read out of bounds (test_keep.py builds it
 * with GCC's checks), and what is found must have the key that was looked for.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../src/native/random.h"
#include "../src/net/flow/ahead.h"
#include "../src/net/flow/find.h"
#include "../src/net/flow/hints.h"
#include "../src/net/keep/former.h"

enum { RECORDS = 700, LIMIT = 1000, NOW = 1000, TIMEOUT = 500, CHANGES = 64 };
struct record { uint64_t key, value; struct flow_age age; };

/* ahead.c needs DPDK. */
void pg_flow_touch(uint8_t *at, uint64_t bytes) { (void)at, (void)bytes; }
void pg_flow_touch_begin(void) {}
void pg_flow_touch_ahead(uint8_t *at, uint64_t bytes) { (void)at, (void)bytes; }
void pg_flow_fill_ahead(struct flow_memory *m, uint64_t from, uint64_t bytes)
{
  (void)m, (void)from, (void)bytes;
}
void pg_flow_touch_forget(uint8_t *at, uint64_t bytes) { (void)at, (void)bytes; }
void pg_flow_note_no_room(int error) { (void)error; }

static uint64_t seed;
static uint64_t below(uint64_t n) { return pg_random(&seed) % n; }

static void fail(const char *what)
{
  perror(what);
  exit(1);
}

static int open_file(const char *name)
{
  unlink(name);
  int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (fd < 0)
    fail(name);
  return fd;
}

static struct flow_table *new_table(void)
{
  struct flow_table *t = pg_flow_table_new(sizeof(struct record), 8,
                                           offsetof(struct record, age), LIMIT,
                                           FLOW_REFUSE, 0);
  if (!t)
    fail("a table");
  t->lists = 2;
  t->list[0].timeout = TIMEOUT;
  t->list[1].timeout = 2 * TIMEOUT;
  return t;
}

/* The files of a table with the keys 1 to RECORDS. */
static void write_files(void)
{
  int file = open_file("records"), hints = open_file("hints");
  struct flow_table *t = new_table();
  struct keep_header h = {.of = "fuzz", .layout = "fuzz 1"};
  struct stat s;
  if (!pg_keep_begin(file, &h, &t->records, "notes", 5) || fstat(file, &s))
    fail("the file");
  struct flow_hints *written = pg_flow_hints_new(hints, s.st_ino, &t->index);
  if (!written)
    fail("hints");
  pg_flow_hints_attach(written, &t->index);
  for (uint64_t key = 1; key <= RECORDS; key++)
    pg_flow_table_add(t, &key, key % 2, NOW - (int64_t)below(TIMEOUT / 2));
  for (uint64_t key = 1; key <= RECORDS; key += 9)
    pg_flow_table_remove(t, pg_flow_table_find(t, &key));
  pg_flow_table_free(t);
  close(file);
  close(hints);
}

static void change(int fd, uint64_t from, uint64_t to)
{
  uint8_t bytes[8];
  size_t n = 1 + below(sizeof bytes);
  uint64_t value = below(4) ? pg_random(&seed) : below(2) * UINT64_MAX;
  memcpy(bytes, &value, sizeof bytes);
  if (to > from && pwrite(fd, bytes, n, (off_t)(from + below(to - from))) < 0)
    fail("a change");
}

static uint64_t size_of(int fd)
{
  struct stat s;
  if (fstat(fd, &s))
    fail("a file's size");
  return (uint64_t)s.st_size;
}

/* Change the files; half of the headers have the right sum nevertheless. */
static void mutate(int file, int hints)
{
  struct keep_header h;
  if (pread(file, &h, sizeof h, 0) != sizeof h)
    fail("the header");
  for (uint64_t n = below(CHANGES); n > 0; n--) {
    uint64_t where = below(8);
    if (where == 0)
      change(file, 8, sizeof h - 8);
    else if (where == 1)
      change(file, h.bits_at, h.bits_at + LIMIT / 8);
    else if (where < 5)
      change(file, h.records_at, h.records_at + sizeof(struct record) * RECORDS);
    else
      change(hints, where == 5 ? 0 : HINT_HEADER,
             where == 5 ? sizeof(struct flow_hint_header) : size_of(hints));
  }
  if (below(2) && pread(file, &h, sizeof h, 0) == sizeof h) {
    if (below(2))
      h.version = KEEP_VERSION;
    pg_keep_set_sum(&h);
    if (pwrite(file, &h, sizeof h, 0) != sizeof h)
      fail("the header");
  }
  if (below(16) == 0 && ftruncate(file, (off_t)below(size_of(file) + 1)))
    fail("the file's end");
  if (below(16) == 0 && ftruncate(hints, (off_t)below(size_of(hints) + 1)))
    fail("the hints' end");
}

static void look_up(struct flow_table *t)
{
  uint64_t key = below(4) ? 1 + below(RECORDS + 50) : pg_random(&seed);
  uint32_t number = pg_flow_table_find(t, &key);
  if (number && memcmp(flow_record(&t->records, number), &key, sizeof key)) {
    fprintf(stderr, "another key was found\n");
    exit(1);
  }
}

/* Go on with the files. How many records were used; -1: they are refused. */
static int64_t go_on(int file, int hints)
{
  struct keep_file looked;
  struct flow_table *t = new_table();
  struct keep_into into = {t};
  int64_t used = -1;
  char notes[64];
  if (pg_keep_look(file, &looked) &&
      looked.header.record_size == t->records.size &&
      looked.header.age_at == t->records.age_at) {
    pg_keep_notes(file, &looked, notes, sizeof notes);
    struct keep_former *f = pg_keep_former(file, &looked, below(2));
    if (!f)
      fail("the former file");
    f->restore = pg_keep_restore_into;
    f->context = &into;
    f->now = NOW;
    if (pg_keep_former_hints(f, hints, looked.inode))
      pg_keep_former_ask(f, &t->index);
    bool more = true;
    for (int i = 0; i < 2000 && more; i++) {
      look_up(t);
      if (i % 4 == 0)
        more = pg_keep_former_step(f, NOW, 8);
    }
    while (more && pg_keep_former_step(f, NOW, 1 << 20))
      ;
    used = (int64_t)f->outcome[KEEP_USED];
    if (used != t->records.count)
      fail("the count");
    pg_keep_former_leave(f);
    while (below(2) && pg_keep_former_shrink(f))
      ;
    pg_keep_former_close(f);
  }
  pg_flow_table_free(t);
  return used;
}

int main(int argc, char **argv)
{
  if (argc < 3 || chdir(argv[1]))
    return fprintf(stderr, "fuzz_keep FOLDER N [SEED]\n"), 2;
  uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : (uint64_t)getpid();
  uint64_t n = strtoull(argv[2], NULL, 10), went_on = 0, refused = 0, records = 0;
  for (uint64_t i = 0; i < n; i++) {
    seed = first + i;
    fprintf(stderr, "\rseed %llu ", (unsigned long long)seed);
    write_files();
    int file = open("records", O_RDWR), hints = open("hints", O_RDWR);
    if (file < 0 || hints < 0)
      fail("the files");
    mutate(file, hints);
    int64_t used = go_on(file, hints);
    went_on += used >= 0;
    refused += used < 0;
    records += used > 0 ? (uint64_t)used : 0;
    close(file);
    close(hints);
  }
  printf("%llu went on with %llu records, %llu were refused\n",
         (unsigned long long)went_on, (unsigned long long)records,
         (unsigned long long)refused);
  return 0;
}
