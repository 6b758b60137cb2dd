/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions of the BSD packet filter, numbered as in Linux's
 * Documentation/networking/filter.rst and libpcap's pcap/bpf.h.
 */
#pragma once

enum { MOST_BPF = 65536, SCRATCH = 16 }; /* instructions; words of memory */

enum { CLASS = 7, LD = 0, LDX, ST, STX, ALU, JMP, RET, MISC };
enum { MODE = 0xe0, IMM = 0, ABS = 0x20, IND = 0x40, MEM = 0x60, LEN = 0x80,
       MSH = 0xa0 };
enum { SIZE = 0x18, WORD = 0, HALF = 8, BYTE = 16 };
enum { ADD = 0, SUB = 0x10, MUL = 0x20, DIV = 0x30, OR = 0x40, AND = 0x50,
       LSH = 0x60, RSH = 0x70, NEG = 0x80, MOD = 0x90, XOR = 0xa0 };
enum { JA = 0, JEQ = 0x10, JGT = 0x20, JGE = 0x30, JSET = 0x40 };
enum { FROM_X = 8, FROM_A = 0x10, TXA = 0x80 };

struct filter {
  uint32_t (*run)(const uint8_t *data, uint32_t length); /* machine code, or NULL */
  void *code;
  size_t code_size; /* bytes mapped */
  uint32_t n;
  struct bpf program[];
};

static inline uint32_t operation(uint32_t code) { return code & 0xf0; }

/* Bytes that a load reads. */
static inline uint32_t size_of(uint32_t code)
{
  return (code & SIZE) == WORD ? 4 : (code & SIZE) == HALF ? 2 : 1;
}

static inline bool known_load(uint32_t code)
{
  switch (code) {
  case LD | IMM: case LD | LEN: case LD | MEM:
  case LD | ABS | WORD: case LD | ABS | HALF: case LD | ABS | BYTE:
  case LD | IND | WORD: case LD | IND | HALF: case LD | IND | BYTE:
  case LDX | IMM: case LDX | LEN: case LDX | MEM: case LDX | MSH | BYTE:
  case ST: case STX:
    return true;
  default:
    return false;
  }
}

enum { MOST_BYTES = 48 }; /* of one instruction's machine code */

/* What is being written: the code so far, where each instruction's begins, and
 * how many bytes the packet is known to have there. */
struct output {
  uint8_t *start, *at;
  uint32_t *place;   /* of instruction i, and at n of the code that rejects */
  uint32_t *known;
  uint32_t n;
  bool final;        /* the second pass, when all places are known */
};

void pg_filter_begin(struct output *o, const struct filter *f);
void pg_filter_write(struct output *o, const struct bpf *b, uint32_t i,
                     uint32_t *known);
void pg_filter_end(struct output *o);

/* filter_jit.c */
void pg_filter_compile(struct filter *f);
void pg_filter_discard(struct filter *f);
