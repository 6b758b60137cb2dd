/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of kept records (src/net/keep) that somebody has changed: fuzz_keep FOLDER N [SEED]
 * writes a table's file and its hints, changes bytes of both, N times, and goes on with
 * them: by key, in steps, as Lua does, as `perigee keep` does, and as a replicator that
 * sends them. Nothing may be read out of bounds (test_keep.py builds it with GCC's checks),
 * and what is found must have the key that was looked for.
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
#include "../src/net/replica/replica.h"

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

/* All of a part of a file is anything. */
static void scramble(int fd, uint64_t from, uint64_t bytes)
{
  uint8_t any[4096];
  for (uint64_t done = 0; done < bytes; done += sizeof any) {
    for (size_t i = 0; i < sizeof any; i += 8)
      memcpy(any + i, &(uint64_t){pg_random(&seed)}, 8);
    uint64_t n = bytes - done < sizeof any ? bytes - done : sizeof any;
    if (pwrite(fd, any, n, (off_t)(from + done)) < 0)
      fail("a part");
  }
}

static void scramble_part(int file, int hints, const struct keep_header *h)
{
  switch (below(6)) {
  case 0: return scramble(file, 0, sizeof *h);
  case 1: return scramble(file, 8, sizeof *h - 8);
  case 2: return scramble(file, h->notes_at, 100);
  case 3: return scramble(file, h->bits_at, LIMIT / 8);
  case 4: return scramble(file, h->records_at, sizeof(struct record) * RECORDS);
  default: return scramble(hints, HINT_HEADER, size_of(hints) - HINT_HEADER);
  }
}

/* Change the files; half of the headers have the right sum nevertheless. */
static void mutate(int file, int hints)
{
  struct keep_header h;
  if (pread(file, &h, sizeof h, 0) != sizeof h)
    fail("the header");
  if (below(8) == 0)
    scramble_part(file, hints, &h);
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
  if (below(16) == 0 && ftruncate(below(2) ? file : hints, (off_t)(size_of(file) - 1)))
    fail("the last byte");
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

/* Copies of all records, as `perigee keep` reads them. */
static void read_all(int file, struct keep_file *looked)
{
  struct keep_records found;
  if (!pg_keep_read(file, looked, below(2) ? FLOW_MOST : 1 + (uint32_t)below(LIMIT),
                    &found))
    return;
  if (found.n > looked->top)
    fail("how many were read");
  int64_t last = INT64_MIN;
  for (uint32_t i = 0; i < found.n; i++) {
    int64_t expiry = pg_keep_expiry(found.record + (size_t)i * found.size,
                                    looked->header.age_at);
    if (expiry < last)
      fail("the order");
    last = expiry;
  }
  pg_keep_free(&found);
}

/* What a master sends of the file comes to its backup: as many records. */
static void replicate(int file, const struct keep_file *looked)
{
  static uint8_t batch[1 << 20];
  struct replica_source s;
  struct replica_target t = {.limit = 1 << 26};
  struct keep_header h = {.of = "there", .layout = "fuzz 1"};
  int there = open_file("there");
  if (!pg_replica_open(&s, file, looked, KEEP_PER_SECOND))
    fail("what is sent");
  uint64_t room = s.room > sizeof batch ? sizeof batch : s.room + below(1 << 16);
  if (!pg_replica_target_open(&t, there, &h, s.size, s.age_at, s.most, "", 0))
    fail("what is taken");
  bool good = pg_replica_begin(&s);
  while (good && s.at < s.top) {
    int64_t n = pg_replica_sweep(&s, NOW, batch, room);
    good = n >= 0 && pg_replica_apply(&t, batch, (uint64_t)n, 0);
  }
  if (good && t.there != s.there)
    fail("another number came");
  pg_replica_target_close(&t);
  pg_replica_close(&s);
  close(there);
}

static void see(void *context, const void *record)
{
  *(uint64_t *)context ^= ((const struct record *)record)->value;
}

static bool own(void *context, const void *record)
{
  (void)context;
  return ((const struct record *)record)->key % 3 != 0;
}

/* Records one by one, as Lua restores them. */
static void go_on_in_lua(struct keep_former *f, struct flow_table *t)
{
  uint64_t seen = 0;
  f->oldest_first = true;
  pg_keep_former_see(f, see, &seen);
  while (!f->done) {
    const void *record = pg_keep_former_next(f, 1 + (uint32_t)below(100));
    uint32_t number;
    if (record)
      f->outcome[pg_keep_restore(t, record, NOW, &number)]++;
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
    read_all(file, &looked);
    f->own = below(4) ? NULL : own;
    f->restore = pg_keep_restore_into;
    f->context = &into;
    f->now = NOW;
    if (pg_keep_former_hints(f, hints, looked.inode))
      pg_keep_former_ask(f, &t->index);
    bool more = below(8) > 0;
    if (!more)
      go_on_in_lua(f, t);
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
  if (below(4) == 0 && pg_keep_look(file, &looked) && looked.header.record_size < 4096)
    replicate(file, &looked);
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
