/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of libxdp and libbpf of the host binary's own, which DPDK's net_af_xdp
 * calls in the place of theirs, for bugs seen in DPDK 22.11.11 with libxdp 1.3.1:
 *
 * - net_af_xdp deletes a port's memory (the umem, which holds the AF_XDP socket open)
 *   as its count goes from 2 to 1; the only user counts as 1. The socket stayed, and
 *   kept the queue: nobody could open it again. Here the memory goes with its last
 *   socket, and what DPDK deletes once more is passed over.
 * - libxdp leaves a descriptor of a BPF map and one of a BPF program open for each
 *   socket. They are closed with it.
 * - net_af_xdp takes the XDP program off the interface with the first of its queues
 *   that is closed, while the others receive by it. Here it stays for the others.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <net/if.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FDS = 8192 };

struct fds { /* those of BPF: maps, programs and types */
  bool has[MOST_FDS];
};

static struct record {
  struct record *next;
  const void *socket;
  void *memory;
  unsigned interface;
  struct fds fds; /* opened with it */
} *records;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What this thread deleted with its last socket, and DPDK may delete once more. */
static _Thread_local const void *deleted;

/* The library's own function. The driver has loaded the library, out of the reach of
 * RTLD_NEXT. */
static void *real(const char *library, const char *name)
{
  void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  void *function = handle ? dlsym(handle, name) : NULL;
  if (!function) {
    fprintf(stderr, "perigee: %s has no %s\n", library, name);
    abort();
  }
  dlclose(handle);
  return function;
}

#define XDP(name) real("libxdp.so.1", name)
#define BPF(name) real("libbpf.so.1", name)

static bool is_of_bpf(DIR *directory, const char *name)
{
  char target[32];
  ssize_t n = readlinkat(dirfd(directory), name, target, sizeof target - 1);
  if (n < 0)
    return false;
  target[n] = '\0';
  return strncmp(target, "anon_inode:bpf", 14) == 0 ||
         strcmp(target, "anon_inode:btf") == 0;
}

static void read_fds(struct fds *fds)
{
  memset(fds, 0, sizeof *fds);
  DIR *directory = opendir("/proc/self/fd");
  if (!directory)
    return;
  for (struct dirent *entry; (entry = readdir(directory));) {
    long fd = strtol(entry->d_name, NULL, 10);
    if (fd > 0 && fd < MOST_FDS && is_of_bpf(directory, entry->d_name))
      fds->has[fd] = true;
  }
  closedir(directory);
}

static void note(const void *socket, const char *interface, void *memory,
                 const struct fds *before)
{
  struct record *record = calloc(1, sizeof *record);
  if (!record)
    return; /* then it is as DPDK does it */
  read_fds(&record->fds);
  for (int fd = 0; fd < MOST_FDS; fd++) {
    record->fds.has[fd] &= !before->has[fd];
    for (struct record *other = records; other; other = other->next)
      other->fds.has[fd] &= !record->fds.has[fd]; /* the number is used again */
  }
  record->socket = socket;
  record->memory = memory;
  record->interface = if_nametoindex(interface);
  record->next = records;
  records = record;
}

static struct record *take(const void *socket)
{
  for (struct record **at = &records; *at; at = &(*at)->next)
    if ((*at)->socket == socket) {
      struct record *found = *at;
      *at = found->next;
      return found;
    }
  return NULL;
}

int xsk_socket__create(void **socket, const char *interface, uint32_t queue,
                       void *memory, void *rx, void *tx, const void *config)
{
  static struct fds before;
  int (*create)(void **, const char *, uint32_t, void *, void *, void *, const void *) =
    XDP("xsk_socket__create");
  pthread_mutex_lock(&lock);
  deleted = NULL;
  read_fds(&before);
  int status = create(socket, interface, queue, memory, rx, tx, config);
  if (status == 0)
    note(*socket, interface, memory, &before);
  pthread_mutex_unlock(&lock);
  return status;
}

int xsk_umem__delete(void *memory)
{
  int (*delete)(void *) = XDP("xsk_umem__delete");
  bool done = memory && memory == deleted;
  deleted = NULL;
  return done ? 0 : delete(memory);
}

/* Close what was opened with the socket, or as it was deleted, and is still open. */
static void close_left(const struct fds *opened, const struct fds *before)
{
  static struct fds after;
  read_fds(&after);
  for (int fd = 0; fd < MOST_FDS; fd++)
    if (after.has[fd] && (opened->has[fd] || !before->has[fd]))
      close(fd);
}

void xsk_socket__delete(void *socket)
{
  static struct fds before;
  void (*delete)(void *) = XDP("xsk_socket__delete");
  int (*delete_memory)(void *) = XDP("xsk_umem__delete");
  pthread_mutex_lock(&lock);
  struct record *record = take(socket);
  read_fds(&before);
  delete(socket);
  if (record) {
    close_left(&record->fds, &before);
    deleted = delete_memory(record->memory) == 0 ? record->memory : NULL;
    free(record);
  }
  pthread_mutex_unlock(&lock);
}

int bpf_xdp_detach(int interface, uint32_t flags, const void *options)
{
  int (*detach)(int, uint32_t, const void *) = BPF("bpf_xdp_detach");
  bool used = false;
  pthread_mutex_lock(&lock);
  for (const struct record *r = records; r; r = r->next)
    used |= r->interface == (unsigned)interface;
  pthread_mutex_unlock(&lock);
  return used ? 0 : detach(interface, flags, options);
}
