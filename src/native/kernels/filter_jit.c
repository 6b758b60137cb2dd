/* SPDX-License-Identifier: Apache-2.0
 *
 * Machine code of packet filters, for x86-64: an instruction at a time, in the order
 * of the program. A bounds check is left out where every way to it has made a wider
 * one. Programs with loops, and other CPUs, are left to filter.c.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../api.h"
#include "filter.h"

void pg_filter_discard(struct filter *f)
{
  if (f->code)
    munmap(f->code, f->code_size);
}

#ifndef __x86_64__

void pg_filter_compile(struct filter *f) { (void)f; }

#else

/* At instruction `i` no more than `known` bytes are certain. */
static void arrive(struct output *o, uint32_t i, uint32_t known)
{
  if (known < o->known[i])
    o->known[i] = known;
}

static void leave(struct output *o, const struct bpf *b, uint32_t i, uint32_t known)
{
  uint32_t class = b->code & CLASS;
  if (class == RET)
    return;
  if (class == JMP && operation(b->code) == JA) {
    arrive(o, i + 1 + b->k, known);
  } else if (class == JMP) {
    arrive(o, i + 1 + b->jt, known);
    arrive(o, i + 1 + b->jf, known);
  } else {
    arrive(o, i + 1, known);
  }
}

static void pass(struct output *o, const struct filter *f)
{
  o->at = o->start;
  memset(o->known, 0xff, (f->n + 1) * sizeof *o->known);
  o->known[0] = 0;
  pg_filter_begin(o, f);
  for (uint32_t i = 0; i < f->n; i++) {
    uint32_t known = o->known[i];
    o->place[i] = (uint32_t)(o->at - o->start);
    pg_filter_write(o, &f->program[i], i, &known);
    leave(o, &f->program[i], i, known);
  }
  o->place[f->n] = (uint32_t)(o->at - o->start);
  pg_filter_end(o);
}

static bool has_loops(const struct filter *f)
{
  for (uint32_t i = 0; i < f->n; i++)
    if (f->program[i].code == (JMP | JA) && (int32_t)f->program[i].k < 0)
      return true;
  return false;
}

/* Give the filter machine code if it can have some: two passes of the same length,
 * as no instruction's code depends on where it lies. */
void pg_filter_compile(struct filter *f)
{
  size_t size = (f->n + SCRATCH + 1) * MOST_BYTES;
  struct output o = {.n = f->n};
  if (has_loops(f))
    return;
  o.place = calloc(2 * (f->n + 1), sizeof *o.place);
  o.start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                 -1, 0);
  if (o.place && o.start != MAP_FAILED) {
    o.known = o.place + f->n + 1;
    pass(&o, f);
    o.final = true;
    pass(&o, f);
    f->code = o.start;
    f->code_size = size;
    if (mprotect(o.start, size, PROT_READ | PROT_EXEC) == 0)
      f->run = (uint32_t (*)(const uint8_t *, uint32_t))f->code;
  } else if (o.start != MAP_FAILED) {
    munmap(o.start, size);
  }
  free(o.place);
}

#endif
