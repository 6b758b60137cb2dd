/* SPDX-License-Identifier: Apache-2.0
 *
 * The share that one of several copies of a program has of an interface: each copy has a
 * socket of its own, and a filter (BPF, Linux' Documentation/networking/filter.rst) takes
 * of the frames those whose flows are the copy's, by the hash that handing out in
 * software uses (native/kernels/flows.c). That hash is linear, so each of its bits is the
 * parity of some bits of the XOR of the words of addresses and ports.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/filter.h>
#include <netinet/in.h>
#include <rte_byteorder.h>

#include "../../net/wire/wire.h"
#include "../../native/host.h"
#include "../../native/kernels.h"
#include "state.h"

enum {
  MOST_CODE = 512, MOST_JUMPS = 64, BUCKET_BITS = 7, BITS_OF_WORD = 16,
  SUM = 0, BUCKET = 1, /* memory of the program */
  PARITIES = 0x6996    /* of the numbers from 0 to 15, a bit each */
};

_Static_assert(FLOW_BUCKETS == 1 << BUCKET_BITS, "a bit of the hash is missing");

/* Where a jump leads that is filled in at the end. */
enum label { DONE, OTHERS };

struct program {
  struct sock_filter code[MOST_CODE];
  uint16_t n;
  struct { uint16_t at; enum label to; } jumps[MOST_JUMPS];
  uint16_t n_jumps;
};

static void emit(struct program *p, uint16_t code, uint32_t k)
{
  p->code[p->n++] = (struct sock_filter){.code = code, .k = k};
}

/* Skip so many instructions if the test holds, or so many if it doesn't. */
static void test(struct program *p, uint16_t what, uint32_t k, uint8_t yes, uint8_t no)
{
  p->code[p->n++] = (struct sock_filter){BPF_JMP | what, yes, no, k};
}

static void go(struct program *p, enum label to)
{
  p->jumps[p->n_jumps].at = p->n;
  p->jumps[p->n_jumps++].to = to;
  emit(p, BPF_JMP | BPF_JA, 0);
}

static void place(struct program *p, enum label label)
{
  for (uint16_t i = 0; i < p->n_jumps; i++)
    if (p->jumps[i].to == label)
      p->code[p->jumps[i].at].k = p->n - p->jumps[i].at - 1;
}

/* SUM ^= A. */
static void add_to_sum(struct program *p)
{
  emit(p, BPF_MISC | BPF_TAX, 0);
  emit(p, BPF_LD | BPF_MEM, SUM);
  emit(p, BPF_ALU | BPF_XOR | BPF_X, 0);
  emit(p, BPF_ST, SUM);
}

/* Addresses of so many words at an offset; a frame without them is no copy's in
 * particular. */
static void add_addresses(struct program *p, uint32_t at, int words)
{
  emit(p, BPF_LD | BPF_W | BPF_LEN, 0);
  test(p, BPF_JGE | BPF_K, at + 4 * words, 1, 0);
  go(p, OTHERS);
  emit(p, BPF_LD | BPF_IMM, 0);
  emit(p, BPF_ST, SUM);
  for (int i = 0; i < words; i++) {
    emit(p, BPF_LD | BPF_W | BPF_ABS, at + 4 * i);
    add_to_sum(p);
  }
}

/* Go on only with a protocol that has ports. */
static void want_ports(struct program *p, uint32_t at)
{
  emit(p, BPF_LD | BPF_B | BPF_ABS, at);
  test(p, BPF_JEQ | BPF_K, IPPROTO_TCP, 3, 0);
  test(p, BPF_JEQ | BPF_K, IPPROTO_UDP, 2, 0);
  test(p, BPF_JEQ | BPF_K, IPPROTO_SCTP, 1, 0);
  go(p, DONE);
}

static void add_ip4(struct program *p, uint32_t ip, bool ports)
{
  add_addresses(p, ip + 12, 2);
  if (!ports)
    return;
  emit(p, BPF_LD | BPF_H | BPF_ABS, ip + 6);
  test(p, BPF_JSET | BPF_K, 0x3fff, 0, 1); /* a fragment */
  go(p, DONE);
  want_ports(p, ip + 9);
  emit(p, BPF_LDX | BPF_B | BPF_MSH, ip);
  emit(p, BPF_MISC | BPF_TXA, 0);
  emit(p, BPF_ALU | BPF_ADD | BPF_K, ip + 4);
  emit(p, BPF_MISC | BPF_TAX, 0);
  emit(p, BPF_LD | BPF_W | BPF_LEN, 0);
  test(p, BPF_JGE | BPF_X, 0, 1, 0);
  go(p, DONE);
  emit(p, BPF_LDX | BPF_B | BPF_MSH, ip);
  emit(p, BPF_LD | BPF_W | BPF_IND, ip);
  add_to_sum(p);
}

static void add_ip6(struct program *p, uint32_t ip, bool ports)
{
  add_addresses(p, ip + 8, 8);
  if (!ports)
    return;
  want_ports(p, ip + 6);
  emit(p, BPF_LD | BPF_W | BPF_LEN, 0);
  test(p, BPF_JGE | BPF_K, ip + 44, 1, 0);
  go(p, DONE);
  emit(p, BPF_LD | BPF_W | BPF_ABS, ip + 40);
  add_to_sum(p);
}

/* A jump over what comes until fill(). */
static uint16_t skip(struct program *p)
{
  emit(p, BPF_JMP | BPF_JA, 0);
  return p->n - 1;
}

static void fill(struct program *p, uint16_t at)
{
  p->code[at].k = p->n - at - 1;
}

/* The sum of a frame whose IP header is at this offset, behind its type. */
static void add_ip(struct program *p, uint32_t ip, bool ports)
{
  emit(p, BPF_LD | BPF_H | BPF_ABS, ip - 2);
  test(p, BPF_JEQ | BPF_K, TYPE_IP4, 1, 0);
  uint16_t not_ip4 = skip(p);
  add_ip4(p, ip, ports);
  go(p, DONE);
  fill(p, not_ip4);
  test(p, BPF_JEQ | BPF_K, TYPE_IP6, 1, 0);
  go(p, OTHERS);
  add_ip6(p, ip, ports);
  go(p, DONE);
}

/* Linux has taken one tag out of a frame; there may be another. */
static void add_frame(struct program *p, bool ports)
{
  emit(p, BPF_LD | BPF_W | BPF_LEN, 0);
  test(p, BPF_JGE | BPF_K, ETHERNET_HEADER, 1, 0);
  go(p, OTHERS);
  emit(p, BPF_LD | BPF_H | BPF_ABS, MAC_ADDRESSES);
  test(p, BPF_JEQ | BPF_K, TYPE_8021Q, 2, 0);
  test(p, BPF_JEQ | BPF_K, TYPE_8021AD, 1, 0);
  uint16_t untagged = skip(p);
  emit(p, BPF_LD | BPF_W | BPF_LEN, 0);
  test(p, BPF_JGE | BPF_K, ETHERNET_HEADER + VLAN_TAG, 1, 0);
  go(p, OTHERS);
  add_ip(p, ETHERNET_HEADER + VLAN_TAG, ports);
  fill(p, untagged);
  add_ip(p, ETHERNET_HEADER, ports);
}

/* The bits of a word whose parity is that bit of its bucket: the hash of each alone. */
static uint32_t bits_of(int bit)
{
  uint32_t mask = 0;
  for (int i = 0; i < BITS_OF_WORD; i++)
    mask |= (pg_bucket_of(pg_tuple_hash(0, 0, rte_cpu_to_be_32(1u << i))) >> bit & 1) << i;
  return mask;
}

/* BUCKET |= that bit of the bucket of the word in SUM. */
static void add_bit(struct program *p, int bit)
{
  emit(p, BPF_LD | BPF_MEM, SUM);
  emit(p, BPF_ALU | BPF_AND | BPF_K, bits_of(bit));
  for (int half = BITS_OF_WORD / 2; half >= 4; half /= 2) {
    emit(p, BPF_MISC | BPF_TAX, 0);
    emit(p, BPF_ALU | BPF_RSH | BPF_K, half);
    emit(p, BPF_ALU | BPF_XOR | BPF_X, 0);
  }
  emit(p, BPF_ALU | BPF_AND | BPF_K, 15);
  emit(p, BPF_MISC | BPF_TAX, 0);
  emit(p, BPF_LD | BPF_IMM, PARITIES);
  emit(p, BPF_ALU | BPF_RSH | BPF_X, 0);
  emit(p, BPF_ALU | BPF_AND | BPF_K, 1);
  emit(p, BPF_ALU | BPF_LSH | BPF_K, bit);
  emit(p, BPF_LDX | BPF_MEM, BUCKET);
  emit(p, BPF_ALU | BPF_OR | BPF_X, 0);
  emit(p, BPF_ST, BUCKET);
}

/* Fold the sum, find its bucket, and take the frame if that is the copy's: of two copies, a
 * bit decides. */
static void decide(struct program *p, uint32_t copies, uint32_t copy)
{
  bool whole_bits = (copies & (copies - 1)) == 0;
  emit(p, BPF_LD | BPF_MEM, SUM);
  emit(p, BPF_ALU | BPF_RSH | BPF_K, BITS_OF_WORD);
  add_to_sum(p);
  emit(p, BPF_LD | BPF_IMM, 0);
  emit(p, BPF_ST, BUCKET);
  for (int bit = 0; bit < BUCKET_BITS && (!whole_bits || 1u << bit < copies); bit++)
    add_bit(p, bit);
  emit(p, BPF_LD | BPF_MEM, BUCKET);
  emit(p, BPF_ALU | BPF_MOD | BPF_K, copies);
  test(p, BPF_JEQ | BPF_K, copy, 0, 1);
  emit(p, BPF_RET | BPF_K, UINT32_MAX);
  emit(p, BPF_RET | BPF_K, 0);
}

/* Let the socket take only the frames that are for number `copy` of so many, by ports or
 * by addresses alone (enum flows_by). 0, or -1 and pg_error(). */
int pg_packet_take_share(int fd, uint32_t copies, uint32_t copy, int32_t by)
{
  struct program p = {.n = 0};
  add_frame(&p, by == FLOWS_BY_PORTS);
  place(&p, DONE);
  decide(&p, copies, copy);
  place(&p, OTHERS); /* they are the first copy's */
  emit(&p, BPF_RET | BPF_K, copy == 0 ? UINT32_MAX : 0);
  struct sock_fprog program = {.len = p.n, .filter = p.code};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) < 0
           ? pg_fail("the kernel refuses a filter of %u instructions: %s", p.n,
                     strerror(errno))
           : 0;
}
