/* SPDX-License-Identifier: Apache-2.0
 *
 * Packet filters: programs of the BSD packet filter (McCanne and Jacobson, 1993),
 * as libpcap makes them of expressions. They are checked once, and then run as
 * machine code (filter_jit.c) or, where that can't be made, one instruction at a
 * time. A read outside of the packet rejects it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../net/wire/wire.h"
#include "../api.h"
#include "filter.h"

enum { MOST_STEPS = 1 << 16 }; /* of a program with loops, then it rejects */

/* May this instruction, `i` of `n`, be run: known, and what it refers to there? */
static bool sound(const struct bpf *b, uint32_t i, uint32_t n)
{
  uint32_t left = n - i - 1; /* instructions behind it */
  switch (b->code & CLASS) {
  case LD: case LDX: case ST: case STX:
    return known_load(b->code) &&
      (((b->code & CLASS) < ST && (b->code & MODE) != MEM) || b->k < SCRATCH);
  case ALU:
    if (operation(b->code) > XOR || (b->code & 0xff00))
      return false;
    if (b->code & FROM_X)
      return true;
    if (operation(b->code) == DIV || operation(b->code) == MOD)
      return b->k != 0;
    return (operation(b->code) != LSH && operation(b->code) != RSH) || b->k < 32;
  case JMP:
    if (b->code == (JMP | JA)) /* libpcap's loops jump back */
      return (int64_t)i + 1 + (int32_t)b->k >= 0 &&
        (int64_t)i + 1 + (int32_t)b->k < n;
    return operation(b->code) != JA && operation(b->code) <= JSET &&
      !(b->code & 0xff00) && b->jt < left && b->jf < left;
  case RET:
    return b->code == RET || b->code == (RET | FROM_A);
  default:
    return b->code == MISC || b->code == (MISC | TXA);
  }
}

/* Is the program one that can be run and ends? The last instruction must be a RET:
 * then no other runs off the end. */
static bool check(const struct bpf *program, uint32_t n)
{
  if (n == 0 || n > MOST_BPF || (program[n - 1].code & CLASS) != RET)
    return false;
  for (uint32_t i = 0; i < n; i++)
    if (!sound(&program[i], i, n))
      return false;
  return true;
}

/* A copy of the program, checked, and compiled if `machine_code` and it can be;
 * NULL if it isn't sound or there is no memory. */
struct filter *pg_filter_new(const struct bpf *program, uint32_t n,
                             bool machine_code)
{
  if (!check(program, n))
    return NULL;
  struct filter *f = calloc(1, sizeof *f + n * sizeof *program);
  if (!f)
    return NULL;
  f->n = n;
  memcpy(f->program, program, n * sizeof *program);
  if (machine_code)
    pg_filter_compile(f);
  return f;
}

void pg_filter_free(struct filter *f)
{
  if (f)
    pg_filter_discard(f);
  free(f);
}

static uint32_t value(const uint8_t *at, uint32_t size)
{
  return size == 1 ? at[0] : size == 2 ? get16(at) : get32(at);
}

/* A op b; false if it divides by 0. Shifts by 32 and more leave nothing. */
static bool compute(uint32_t op, uint32_t *a, uint32_t b)
{
  switch (op) {
  case ADD: *a += b; return true;
  case SUB: *a -= b; return true;
  case MUL: *a *= b; return true;
  case DIV: if (b) *a /= b; return b != 0;
  case MOD: if (b) *a %= b; return b != 0;
  case OR: *a |= b; return true;
  case AND: *a &= b; return true;
  case XOR: *a ^= b; return true;
  case LSH: *a = b < 32 ? *a << b : 0; return true;
  case RSH: *a = b < 32 ? *a >> b : 0; return true;
  default: *a = -*a; return true; /* NEG */
  }
}

static bool holds(uint32_t op, uint32_t a, uint32_t b)
{
  return op == JEQ ? a == b : op == JGT ? a > b : op == JGE ? a >= b : (a & b) != 0;
}

static uint32_t interpret(const struct filter *f, const uint8_t *data,
                          uint32_t length)
{
  uint32_t a = 0, x = 0, scratch[SCRATCH] = {0}, steps = 0;
  for (const struct bpf *b = f->program; steps < MOST_STEPS; b++, steps++) {
    uint32_t code = b->code, k = b->k, size = size_of(code);
    switch (code & CLASS) {
    case LD: case LDX: {
      uint32_t *to = (code & CLASS) == LD ? &a : &x;
      uint64_t at = k;
      switch (code & MODE) {
      case IMM: *to = k; break;
      case LEN: *to = length; break;
      case MEM: *to = scratch[k]; break;
      case MSH:
        if (k >= length) return 0;
        x = (data[k] & 15u) << 2;
        break;
      case IND: at += x; /* fall through */
      default:
        if (at + size > length) return 0;
        a = value(data + at, size);
      }
      break;
    }
    case ST: scratch[k] = a; break;
    case STX: scratch[k] = x; break;
    case ALU:
      if (!compute(operation(code), &a, code & FROM_X ? x : k)) return 0;
      break;
    case JMP:
      if (operation(code) == JA) b += (int32_t)k;
      else b += holds(operation(code), a, code & FROM_X ? x : k) ? b->jt : b->jf;
      break;
    case RET: return code & FROM_A ? a : k;
    default: if (code & TXA) a = x; else x = a; /* MISC */
    }
  }
  return 0;
}

/* Does the filter accept the packet? 1 or 0. */
int pg_filter(const struct filter *f, const uint8_t *data, uint32_t length)
{
  return (f->run ? f->run(data, length) : interpret(f, data, length)) != 0;
}
