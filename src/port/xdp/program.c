/* SPDX-License-Identifier: Apache-2.0
 *
 * The XDP program of AF_XDP ports. It is attached by a BPF link (Linux 5.9), which ends
 * with its last descriptor: when this process ends, however it does, the kernel takes
 * the program off the interface. The one of libxdp would stay after kill -9, in the way
 * of the next process. One for all queues of an interface: processes that come later
 * take descriptors of the same map and link (others.c), so that the program stays as
 * long as one of them runs. Where another program is attached, the kernel refuses ours.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/if_link.h>

#include "../../native/api.h"
#include "bpf.h"
#include "program.h"

enum { FEWEST_QUEUES = 1024 }; /* that the map has room for */

static struct program {
  struct program *next;
  unsigned interface;
  int map, link; /* descriptors: which socket has a queue; the attached program */
  unsigned sockets;
} *programs;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local const char *problem = "";

const char *pg_xdp_problem(void)
{
  return problem;
}

int pg_bpf(int command, union bpf_attr *attr)
{
  return syscall(SYS_bpf, command, attr, sizeof *attr);
}

static int make_map(uint32_t entries)
{
  union bpf_attr attr = {.map_type = BPF_MAP_TYPE_XSKMAP, .key_size = sizeof(uint32_t),
                         .value_size = sizeof(int), .max_entries = entries,
                         .map_name = XDP_MAP_NAME};
  return pg_bpf(BPF_MAP_CREATE, &attr);
}

/* return bpf_redirect_map(&map, context->rx_queue_index, XDP_PASS); */
static int load_program(int map)
{
  struct bpf_insn code[] = {
    {.code = BPF_LDX | BPF_W | BPF_MEM, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_1,
     .off = offsetof(struct xdp_md, rx_queue_index)},
    {.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_1,
     .src_reg = BPF_PSEUDO_MAP_FD, .imm = map},
    {0}, /* the upper half of it */
    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = XDP_PASS},
    {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect_map},
    {.code = BPF_JMP | BPF_EXIT},
  };
  union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_XDP, .insns = (uintptr_t)code,
                         .insn_cnt = sizeof code / sizeof *code,
                         .license = (uintptr_t) "Apache-2.0",
                         .prog_name = XDP_PROGRAM_NAME};
  return pg_bpf(BPF_PROG_LOAD, &attr);
}

static int attach_as(unsigned interface, int program, uint32_t mode)
{
  union bpf_attr attr = {.link_create = {.prog_fd = program,
                                         .target_ifindex = interface,
                                         .attach_type = BPF_XDP, .flags = mode}};
  return pg_bpf(BPF_LINK_CREATE, &attr);
}

/* In the interface's driver, or else in the kernel, for any interface. */
static int attach(unsigned interface, int program)
{
  int link = attach_as(interface, program, 0);
  return link >= 0 || errno == EBUSY || errno == EEXIST
           ? link
           : attach_as(interface, program, XDP_FLAGS_SKB_MODE);
}

static int set_queue(int map, uint32_t queue, int *socket)
{
  union bpf_attr attr = {.map_fd = map, .key = (uintptr_t)&queue,
                         .value = (uintptr_t)socket};
  return pg_bpf(socket ? BPF_MAP_UPDATE_ELEM : BPF_MAP_DELETE_ELEM, &attr);
}

static int failed(const char *what)
{
  problem = what;
  return -1;
}

void pg_xdp_refused(const char *why)
{
  problem = why;
}

/* Load and attach the program; 0, or -1, errno and a problem. */
static int start(struct program *p, uint32_t queue)
{
  p->map = make_map(queue < FEWEST_QUEUES ? FEWEST_QUEUES : queue + 1);
  if (p->map < 0)
    return failed("the kernel makes no map for its sockets");
  int program = load_program(p->map);
  if (program < 0)
    return failed("the kernel doesn't take the XDP program");
  p->link = attach(p->interface, program);
  int error = errno;
  close(program); /* the link has it */
  errno = error;
  if (p->link >= 0)
    return 0;
  return failed(errno == EBUSY || errno == EEXIST
                  ? "another XDP program is attached to it"
                  : "the XDP program can't be attached (Linux 5.9 or later can)");
}

/* The program of a process that uses the interface already, or one of our own; as
 * start(). Between a look and the next step that process may end, or another begin. */
static int find_or_start(struct program *p, uint32_t queue)
{
  enum { TRIES = 10 };
  for (int i = 0; i < TRIES; i++) {
    int found = pg_xdp_of_others(p->interface, &p->map, &p->link);
    if (found > 0)
      return 0;
    if (found == 0 && start(p, queue) == 0)
      return 0;
    int error = errno;
    if (p->map >= 0)
      close(p->map);
    p->map = -1;
    errno = error;
    if (error != EBUSY && error != EEXIST && error != ENOENT)
      break;
  }
  if (*problem)
    return -1;
  return failed(errno == EPERM ? "another process has an XDP program on it; to share "
                                 "the interface with that takes CAP_SYS_ADMIN"
                               : "another XDP program is attached to it");
}

static void end(struct program *p)
{
  int error = errno;
  if (p->link >= 0)
    close(p->link);
  if (p->map >= 0)
    close(p->map);
  free(p);
  errno = error;
}

static struct program **find(unsigned interface)
{
  struct program **at = &programs;
  while (*at && (*at)->interface != interface)
    at = &(*at)->next;
  return at;
}

static int join(unsigned interface, uint32_t queue, int socket)
{
  struct program *p = *find(interface), *made = NULL;
  if (!p) {
    p = made = calloc(1, sizeof *made);
    if (!made)
      return failed("no memory");
    *made = (struct program){programs, interface, -1, -1, 0};
  }
  if ((made && find_or_start(made, queue) < 0) ||
      (set_queue(p->map, queue, &socket) < 0 &&
       failed("the kernel has no such queue of it") < 0)) {
    if (made)
      end(made);
    return -1;
  }
  if (made)
    programs = made;
  p->sockets++;
  return 0;
}

int pg_xdp_join(unsigned interface, uint32_t queue, int socket)
{
  problem = "";
  pthread_mutex_lock(&lock);
  int status = join(interface, queue, socket) < 0 ? -errno : 0;
  if (status == 0)
    problem = ""; /* of a try that failed before */
  pthread_mutex_unlock(&lock);
  return status;
}

void pg_xdp_leave(unsigned interface, uint32_t queue)
{
  pthread_mutex_lock(&lock);
  struct program **at = find(interface), *p = *at;
  if (p) {
    set_queue(p->map, queue, NULL);
    if (--p->sockets == 0) {
      *at = p->next;
      end(p);
    }
  }
  pthread_mutex_unlock(&lock);
}
