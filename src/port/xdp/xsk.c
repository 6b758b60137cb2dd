/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of libc, libxdp and libbpf of the host binary's own, which DPDK's net_af_xdp
 * calls in the place of theirs, for what it does badly in DPDK 22.11.11 with libxdp
 * 1.3.1:
 *
 * - The XDP program of libxdp stays on the interface when the process is killed, and
 *   leaves descriptors of BPF open. Sockets get that of program.c instead.
 * - net_af_xdp takes away whatever XDP program is on the interface, as a queue is closed
 *   or couldn't be opened. Ours goes with its last queue, others stay.
 * - net_af_xdp deletes a port's memory (the umem, which holds the AF_XDP socket open)
 *   as its count goes from 2 to 1; the only user counts as 1. The socket stayed, and
 *   kept the queue: nobody could open it again. Here the memory goes with its last
 *   socket, and what DPDK deletes once more is passed over.
 * - Of the packets that the kernel dropped, net_af_xdp counts all but those for which
 *   the ring to receive from was full. Here they are among the others.
 */
#include <dlfcn.h>
#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/if_xdp.h>

#include "../../native/api.h"
#include "../../native/log.h"
#include "program.h"

/* struct xsk_socket_config (xdp/xsk.h of libxdp 1) */
struct socket_config {
  uint32_t rx_size, tx_size, flags, xdp_flags;
  uint16_t bind_flags;
};

enum { NO_PROGRAM = 1 }; /* XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD */

static struct record {
  struct record *next;
  const void *socket;
  void *memory;
  unsigned interface;
  uint32_t queue;
  int fd;
} *records;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What this thread deleted with its last socket, and DPDK may delete once more. */
static _Thread_local const void *deleted;

/* The library's own function. The driver has loaded the library, out of the reach of
 * RTLD_NEXT. */
static void *real(const char *name)
{
  void *handle = dlopen("libxdp.so.1", RTLD_NOW | RTLD_NOLOAD);
  void *function = handle ? dlsym(handle, name) : NULL;
  if (!function) {
    pg_logf(LOG_ERROR, "libxdp.so.1 has no %s", name);
    abort();
  }
  dlclose(handle);
  return function;
}

static void note(struct record record)
{
  struct record *noted = malloc(sizeof *noted);
  if (!noted)
    abort();
  *noted = record;
  pthread_mutex_lock(&lock);
  noted->next = records;
  records = noted;
  pthread_mutex_unlock(&lock);
}

static struct record *take(const void *socket)
{
  struct record *found = NULL;
  pthread_mutex_lock(&lock);
  for (struct record **at = &records; *at && !found; at = &(*at)->next)
    if ((*at)->socket == socket) {
      found = *at;
      *at = found->next;
      break;
    }
  pthread_mutex_unlock(&lock);
  return found;
}

int xsk_socket__create(void **socket, const char *interface, uint32_t queue,
                       void *memory, void *rx, void *tx, const void *config)
{
  int (*create)(void **, const char *, uint32_t, void *, void *, void *, const void *) =
    real("xsk_socket__create");
  int (*descriptor)(const void *) = real("xsk_socket__fd");
  void (*delete)(void *) = real("xsk_socket__delete");
  struct socket_config without = *(const struct socket_config *)config;
  struct record record = {.memory = memory, .interface = if_nametoindex(interface),
                          .queue = queue};
  without.flags |= NO_PROGRAM;
  deleted = NULL;
  pg_xdp_refused("");
  int status = create(socket, interface, queue, memory, rx, tx, &without);
  if (status == -EBUSY)
    pg_xdp_refused("another process has that queue of the interface");
  if (status < 0)
    return status;
  status = pg_xdp_join(record.interface, queue, descriptor(*socket));
  if (status < 0) {
    delete(*socket);
    *socket = NULL; /* DPDK would delete it again */
    return status;
  }
  record.socket = *socket;
  record.fd = descriptor(*socket);
  note(record);
  return 0;
}

int xsk_umem__delete(void *memory)
{
  int (*delete)(void *) = real("xsk_umem__delete");
  bool done = memory && memory == deleted;
  deleted = NULL;
  return done ? 0 : delete(memory);
}

void xsk_socket__delete(void *socket)
{
  void (*delete)(void *) = real("xsk_socket__delete");
  int (*delete_memory)(void *) = real("xsk_umem__delete");
  struct record *record = take(socket);
  if (record)
    pg_xdp_leave(record->interface, record->queue);
  delete(socket);
  if (record)
    deleted = delete_memory(record->memory) == 0 ? record->memory : NULL;
  free(record);
}

int bpf_xdp_detach(int interface, uint32_t flags, const void *options)
{
  (void)interface, (void)flags, (void)options;
  return 0;
}

/* Each packet is in one of the two: if_xdp.h, and xsk_rcv() of the kernel, which also
 * counts as rx_dropped those for which the fill ring was empty. */
int getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
  struct xdp_statistics *xdp = value;
  int status = syscall(SYS_getsockopt, fd, level, name, value, size);
  if (status == 0 && level == SOL_XDP && name == XDP_STATISTICS &&
      *size >= sizeof *xdp)
    xdp->rx_dropped += xdp->rx_ring_full;
  return status;
}

/* The socket of a queue, which is readable while it has packets; -1 if there is none. */
int pg_xdp_descriptor(const char *interface, uint32_t queue)
{
  unsigned number = if_nametoindex(interface);
  int fd = -1;
  pthread_mutex_lock(&lock);
  for (struct record *r = records; r && fd < 0; r = r->next)
    if (r->interface == number && r->queue == queue)
      fd = r->fd;
  pthread_mutex_unlock(&lock);
  return fd;
}
