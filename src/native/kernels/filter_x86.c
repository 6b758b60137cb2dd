/* SPDX-License-Identifier: Apache-2.0
 *
 * The x86-64 code of one instruction of a packet filter. A is in eax, X in ecx, the
 * packet at rdi, its length in rsi; scratch memory is in the red zone below the
 * stack pointer (System V ABI, AMD64, 3.2.2).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../api.h"
#include "filter.h"

#ifdef __x86_64__

enum {
  EVERYTHING = 0x7fffff00,     /* offsets from here on are in no packet */
  IF_BELOW = 0x82, IF_NOT_BELOW = 0x83, IF_EQUAL = 0x84, IF_NOT_EQUAL = 0x85,
  IF_NOT_ABOVE = 0x86, IF_ABOVE = 0x87
};

static void bytes(struct output *o, const char *code, size_t n)
{
  memcpy(o->at, code, n);
  o->at += n;
}

#define EMIT(o, code) bytes(o, code, sizeof(code) - 1)

static void number(struct output *o, uint32_t value)
{
  memcpy(o->at, &value, sizeof value);
  o->at += sizeof value;
}

#define EMIT_K(o, code, k) (EMIT(o, code), number(o, k))

/* Jump to instruction `to`; the displacement counts from behind itself. */
static void displacement(struct output *o, uint32_t to)
{
  uint32_t next = (uint32_t)(o->at + 4 - o->start);
  number(o, o->final ? o->place[to] - next : 0);
}

static void jump(struct output *o, uint32_t to)
{
  EMIT(o, "\xe9");
  displacement(o, to);
}

static void jump_if(struct output *o, int condition, uint32_t to)
{
  *o->at++ = 0x0f;
  *o->at++ = (uint8_t)condition;
  displacement(o, to);
}

/* The packet must have `end` bytes. `known` is what it has, and then what
 * it has for certain. */
static void require(struct output *o, uint32_t *known, uint32_t end)
{
  if (end <= *known)
    return;
  EMIT_K(o, "\x81\xfe", end); /* cmp esi, end */
  jump_if(o, IF_BELOW, o->n);
  *known = end;
}

/* The scratch word `k` is at [rsp - 4 - 4 k]. */
static void scratch(struct output *o, const char *code, uint32_t k)
{
  bytes(o, code, 3);
  *o->at++ = (uint8_t)(-4 - 4 * (int)k);
}

static void load_absolute(struct output *o, const struct bpf *b, uint32_t *known)
{
  uint32_t size = size_of(b->code);
  if (b->k >= EVERYTHING) {
    jump(o, o->n);
    return;
  }
  require(o, known, b->k + size);
  if (size == 1) {
    EMIT_K(o, "\x0f\xb6\x87", b->k);  /* movzx eax, byte [rdi + k] */
  } else if (size == 2) {
    EMIT_K(o, "\x0f\xb7\x87", b->k);  /* movzx eax, word [rdi + k] */
    EMIT(o, "\x66\xc1\xc0\x08");      /* rol ax, 8 */
  } else {
    EMIT_K(o, "\x8b\x87", b->k);      /* mov eax, [rdi + k] */
    EMIT(o, "\x0f\xc8");              /* bswap eax */
  }
}

static void load_indirect(struct output *o, const struct bpf *b)
{
  uint32_t size = size_of(b->code);
  if (b->k >= EVERYTHING) {
    jump(o, o->n);
    return;
  }
  EMIT(o, "\x89\xca");                /* mov edx, ecx */
  EMIT_K(o, "\x48\x81\xc2", b->k);    /* add rdx, k */
  EMIT(o, "\x4c\x8d\x42");            /* lea r8, [rdx + size] */
  *o->at++ = (uint8_t)size;
  EMIT(o, "\x49\x39\xf0");            /* cmp r8, rsi */
  jump_if(o, IF_ABOVE, o->n);
  if (size == 1)
    EMIT(o, "\x0f\xb6\x04\x17");      /* movzx eax, byte [rdi + rdx] */
  else if (size == 2)
    EMIT(o, "\x0f\xb7\x04\x17\x66\xc1\xc0\x08");
  else
    EMIT(o, "\x8b\x04\x17\x0f\xc8");
}

static void load(struct output *o, const struct bpf *b, uint32_t *known)
{
  bool to_a = (b->code & CLASS) == LD;
  switch (b->code & MODE) {
  case IMM:
    *o->at++ = to_a ? 0xb8 : 0xb9;    /* mov eax (ecx), k */
    number(o, b->k);
    break;
  case LEN: bytes(o, to_a ? "\x89\xf0" : "\x89\xf1", 2); break;
  case MEM: scratch(o, to_a ? "\x8b\x44\x24" : "\x8b\x4c\x24", b->k); break;
  case IND: load_indirect(o, b); break;
  case ABS: load_absolute(o, b, known); break;
  default:                            /* MSH */
    if (b->k >= EVERYTHING) {
      jump(o, o->n);
      return;
    }
    require(o, known, b->k + 1);
    EMIT_K(o, "\x0f\xb6\x8f", b->k);  /* movzx ecx, byte [rdi + k] */
    EMIT(o, "\x83\xe1\x0f\xc1\xe1\x02"); /* and ecx, 15; shl ecx, 2 */
  }
}

/* eax / ecx (or r8d), the quotient left in eax, the remainder in edx. */
static void divide(struct output *o, const struct bpf *b)
{
  if (b->code & FROM_X) {
    EMIT(o, "\x85\xc9");              /* test ecx, ecx */
    jump_if(o, IF_EQUAL, o->n);
    EMIT(o, "\x31\xd2\xf7\xf1");      /* xor edx, edx; div ecx */
  } else {
    EMIT_K(o, "\x41\xb8", b->k);      /* mov r8d, k */
    EMIT(o, "\x31\xd2\x41\xf7\xf0");  /* xor edx, edx; div r8d */
  }
  if (operation(b->code) == MOD)
    EMIT(o, "\x89\xd0");              /* mov eax, edx */
}

static void shift(struct output *o, const struct bpf *b)
{
  uint8_t kind = operation(b->code) == LSH ? 0xe0 : 0xe8;
  if (b->code & FROM_X) {
    *o->at++ = 0xd3;                  /* shl (shr) eax, cl */
    *o->at++ = kind;
    EMIT(o, "\x31\xd2\x83\xf9\x20\x0f\x43\xc2"); /* 0 if ecx >= 32: cmovae eax, edx */
  } else {
    *o->at++ = 0xc1;
    *o->at++ = kind;
    *o->at++ = (uint8_t)b->k;
  }
}

static void compute(struct output *o, const struct bpf *b)
{
  static const struct { uint8_t with_k, with_x; } simple[] = {
    [ADD >> 4] = {0x05, 0x01}, [SUB >> 4] = {0x2d, 0x29}, [OR >> 4] = {0x0d, 0x09},
    [AND >> 4] = {0x25, 0x21}, [XOR >> 4] = {0x35, 0x31}};
  uint32_t op = operation(b->code);
  switch (op) {
  case DIV: case MOD: divide(o, b); break;
  case LSH: case RSH: shift(o, b); break;
  case NEG: EMIT(o, "\xf7\xd8"); break;
  case MUL:
    if (b->code & FROM_X)
      EMIT(o, "\x0f\xaf\xc1");        /* imul eax, ecx */
    else
      EMIT_K(o, "\x69\xc0", b->k);    /* imul eax, eax, k */
    break;
  default:
    if (b->code & FROM_X) {
      *o->at++ = simple[op >> 4].with_x;
      *o->at++ = 0xc8;                /* eax, ecx */
    } else {
      *o->at++ = simple[op >> 4].with_k;
      number(o, b->k);
    }
  }
}

/* The condition's jump, and that of its opposite. */
static const uint8_t jumps[][2] = {
  [JEQ >> 4] = {IF_EQUAL, IF_NOT_EQUAL}, [JGT >> 4] = {IF_ABOVE, IF_NOT_ABOVE},
  [JGE >> 4] = {IF_NOT_BELOW, IF_BELOW}, [JSET >> 4] = {IF_NOT_EQUAL, IF_EQUAL}};

static void compare(struct output *o, uint32_t op, uint32_t k)
{
  *o->at++ = op == JSET ? 0xa9 : 0x3d; /* test (cmp) eax, k */
  number(o, k);
}

static void branch(struct output *o, const struct bpf *b, uint32_t i)
{
  uint32_t op = operation(b->code), yes = i + 1 + b->jt, no = i + 1 + b->jf;
  if (op == JA) {
    jump(o, i + 1 + b->k);
    return;
  }
  if (b->code & FROM_X)
    bytes(o, op == JSET ? "\x85\xc8" : "\x39\xc8", 2); /* test (cmp) eax, ecx */
  else
    compare(o, op, b->k);
  if (b->jt == 0) {
    jump_if(o, jumps[op >> 4][1], no);
    return;
  }
  jump_if(o, jumps[op >> 4][0], yes);
  if (b->jf != 0)
    jump(o, no);
}

/* Write the code of `b`, instruction `i`; `*known` are the bytes that the packet
 * has for certain, before and after it. */
void pg_filter_write(struct output *o, const struct bpf *b, uint32_t i,
                     uint32_t *known)
{
  switch (b->code & CLASS) {
  case LD: case LDX: load(o, b, known); break;
  case ST: scratch(o, "\x89\x44\x24", b->k); break;
  case STX: scratch(o, "\x89\x4c\x24", b->k); break;
  case ALU: compute(o, b); break;
  case JMP: branch(o, b, i); break;
  case RET:
    if (!(b->code & FROM_A)) EMIT_K(o, "\xb8", b->k);
    EMIT(o, "\xc3");
    break;
  default: bytes(o, b->code & TXA ? "\x89\xc8" : "\x89\xc1", 2);
  }
}

/* Write what comes first: A, X and the scratch words that are read are 0. */
void pg_filter_begin(struct output *o, const struct filter *f)
{
  EMIT(o, "\x89\xf6\x31\xc0\x31\xc9"); /* mov esi, esi; xor eax, eax; ... ecx */
  uint32_t cleared = 0;
  for (uint32_t i = 0; i < f->n; i++) {
    const struct bpf *b = &f->program[i];
    bool reads = (b->code & CLASS) <= LDX && (b->code & MODE) == MEM;
    if (reads && !(cleared & 1u << b->k)) {
      cleared |= 1u << b->k;
      scratch(o, "\x89\x44\x24", b->k);
    }
  }
}

/* Write what comes last: jumps to `n` reject. */
void pg_filter_end(struct output *o)
{
  EMIT(o, "\x31\xc0\xc3"); /* xor eax, eax; ret */
}

#endif
