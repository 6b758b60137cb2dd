/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the instructions that a thread of another process takes from one receive to the
 * next, by single steps (ptrace(2)): the same on a busy machine as on an idle one, and
 * without the CPU's counters, which virtual machines often hide.
 *
 *   step PID OPS PORT RECEIVES
 *
 * OPS: where that process has DPDK's rte_eth_fp_ops. The thread is the process's first, and
 * PORT the DPDK port whose receive function begins each interval.
 * Prints "interval INSTRUCTIONS PACKETS" for each of so many, where PACKETS are those that
 * any port was given to send; then, of the first with the most frequent number of
 * instructions, "at ADDRESS BYTES" for each of them. To the process, time passes by
 * instructions: what it reads of the time stamp counter is made up.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

enum { MOST_PORTS = 16, LONGEST = 15, SLOTS = 1 << 16, PER_TICK = 4 };

struct code {
  uint64_t address;
  uint8_t bytes[LONGEST + 1];
  bool rdtsc, rdtscp, receives, sends;
};

struct interval {
  size_t first;                 /* in the list of all steps */
  uint32_t steps, packets;
};

static pid_t pid;
static struct code known[SLOTS];
static uint64_t receive_at, send_at[MOST_PORTS];

static void check(bool good, const char *what)
{
  if (good)
    return;
  fprintf(stderr, "%s failed: %s\n", what, strerror(errno));
  exit(1);
}

static size_t read_there(uint64_t address, void *to, size_t n)
{
  struct iovec here = {to, n}, there = {(void *)address, n};
  ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
  return got < 0 ? 0 : got;
}

static void find_functions(uint64_t ops, int port)
{
  struct rte_eth_fp_ops of[MOST_PORTS], none;
  check(read_there(ops, of, sizeof of) == sizeof of, "reading the ports' functions");
  check(read_there(ops + (RTE_MAX_ETHPORTS - 1) * sizeof none, &none, sizeof none) ==
          sizeof none, "reading a port's functions");
  receive_at = (uint64_t)of[port].rx_pkt_burst;
  for (int i = 0; i < MOST_PORTS; i++)
    if (of[i].tx_pkt_burst != none.tx_pkt_burst)
      send_at[i] = (uint64_t)of[i].tx_pkt_burst;
  check(of[port].rx_pkt_burst != none.rx_pkt_burst, "finding that port");
}

/* What is at an address; compiled code isn't changed meanwhile, or it is known anew. */
static struct code *code_at(uint64_t address)
{
  struct code *c = &known[(address ^ address >> 16) % SLOTS];
  if (c->address == address)
    return c;
  *c = (struct code){.address = address};
  size_t n = read_there(address, c->bytes, LONGEST);
  c->rdtsc = n >= 2 && c->bytes[0] == 0x0f && c->bytes[1] == 0x31;
  c->rdtscp = n >= 3 && c->bytes[0] == 0x0f && c->bytes[1] == 0x01 && c->bytes[2] == 0xf9;
  c->receives = address == receive_at;
  for (int i = 0; i < MOST_PORTS; i++)
    c->sends |= address == send_at[i];
  return c;
}

/* Signals but those of the steps themselves go to the process. */
static void step(int signal)
{
  int status;
  check(ptrace(PTRACE_SINGLESTEP, pid, NULL, signal) == 0, "a step");
  check(waitpid(pid, &status, __WALL) == pid, "waiting for a step");
  if (!WIFSTOPPED(status)) {
    fprintf(stderr, "the process has ended\n");
    exit(1);
  }
  if (WSTOPSIG(status) != SIGTRAP)
    step(WSTOPSIG(status));
}

static struct user_regs_struct registers(void)
{
  struct user_regs_struct r;
  check(ptrace(PTRACE_GETREGS, pid, NULL, &r) == 0, "reading registers");
  return r;
}

static void read_made_up(struct user_regs_struct *r, const struct code *c, uint64_t tsc)
{
  r->rax = (uint32_t)tsc;
  r->rdx = tsc >> 32;
  r->rcx = c->rdtscp ? 0 : r->rcx;
  r->rip += c->rdtscp ? 3 : 2;
  check(ptrace(PTRACE_SETREGS, pid, NULL, r) == 0, "writing registers");
}

static const struct interval *usual(const struct interval *list, int n)
{
  const struct interval *best = list;
  for (int i = 0, most = 0; i < n; i++) {
    int same = 0;
    for (int k = 0; k < n; k++)
      same += list[k].steps == list[i].steps;
    if (same > most) {
      most = same;
      best = &list[i];
    }
  }
  return best;
}

static void print(const struct interval *list, int n, const uint64_t *steps)
{
  for (int i = 0; i < n; i++)
    printf("interval %u %u\n", list[i].steps, list[i].packets);
  const struct interval *one = usual(list, n);
  for (uint32_t i = 0; i < one->steps; i++) {
    const struct code *c = code_at(steps[one->first + i]);
    printf("at %" PRIx64 " ", c->address);
    for (int k = 0; k < LONGEST; k++)
      printf("%02x", c->bytes[k]);
    printf("\n");
  }
}

int main(int argc, char **argv)
{
  int status, intervals = -1;
  size_t n = 0, room = 1 << 20;
  if (argc != 5) {
    fprintf(stderr, "usage: step PID OPS PORT RECEIVES\n");
    return 1;
  }
  pid = atoi(argv[1]);
  int port = atoi(argv[3]), wanted = atoi(argv[4]);
  check(port >= 0 && port < MOST_PORTS && wanted > 0, "reading the arguments");
  struct interval *list = calloc(wanted + 1, sizeof *list);
  uint64_t *steps = malloc(room * sizeof *steps);
  check(list && steps, "memory");
  find_functions(strtoull(argv[2], NULL, 16), port);
  check(ptrace(PTRACE_SEIZE, pid, NULL, 0) == 0, "attaching to the process");
  uint64_t tsc = rte_rdtsc(); /* how long it is stopped isn't seen: nothing is due by that */
  check(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0, "stopping it");
  check(waitpid(pid, &status, __WALL) == pid, "waiting until it stops");
  for (;;) {
    struct user_regs_struct r = registers();
    const struct code *c = code_at(r.rip);
    if (c->receives && ++intervals == wanted)
      break;
    if (c->receives)
      list[intervals].first = n;
    if (intervals >= 0) {
      list[intervals].steps++;
      list[intervals].packets += c->sends ? (uint16_t)r.rdx : 0;
    }
    if (n == room)
      check((steps = realloc(steps, (room *= 2) * sizeof *steps)) != NULL, "memory");
    steps[n++] = r.rip;
    if (c->rdtsc || c->rdtscp)
      read_made_up(&r, c, tsc + n / PER_TICK);
    else
      step(0);
  }
  print(list, wanted, steps);
  check(ptrace(PTRACE_DETACH, pid, NULL, 0) == 0, "leaving the process");
  return 0;
}
