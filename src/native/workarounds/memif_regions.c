/* SPDX-License-Identifier: Apache-2.0
 *
 * A recvmsg() of the host binary's own, which net_memif calls in the place of libc's, for
 * a bug seen in DPDK 22.11.11: memory that a peer hands over as a descriptor is closed by
 * memif_free_regions() only if it was mapped. If the peer goes before that, or the driver
 * refuses the message, the descriptor stays. Here each is noted as it comes. When its
 * connection is over, it is closed before the next message of any peer is read, if it is
 * still that file: the driver has done its part by then, in the same thread.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interrupt_thread.h"
#include "memif.h"

static struct region {
  struct region *next;
  int connection, fd;
  bool over;
  dev_t device;
  ino_t inode;
} *regions;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Memory is a file of its own; what a ring is told by (eventfd(2)) has no number. */
static bool is_memory(int fd, struct stat *st)
{
  return fstat(fd, st) == 0 && S_ISREG(st->st_mode);
}

static void note(int connection, int fd)
{
  struct stat st;
  struct region *r;
  if (!is_memory(fd, &st) || !(r = malloc(sizeof *r)))
    return;
  pthread_mutex_lock(&lock);
  *r = (struct region){regions, connection, fd, false, st.st_dev, st.st_ino};
  regions = r;
  pthread_mutex_unlock(&lock);
}

void pg_memif_over(int fd)
{
  pthread_mutex_lock(&lock);
  for (struct region *r = regions; r; r = r->next)
    r->over |= r->connection == fd;
  pthread_mutex_unlock(&lock);
}

static void close_left(void)
{
  struct stat st;
  pthread_mutex_lock(&lock);
  for (struct region **at = &regions; *at;) {
    struct region *r = *at;
    if (!r->over) {
      at = &r->next;
      continue;
    }
    if (is_memory(r->fd, &st) && st.st_dev == r->device && st.st_ino == r->inode)
      close(r->fd);
    *at = r->next;
    free(r);
  }
  pthread_mutex_unlock(&lock);
}

static void note_all(int connection, struct msghdr *message)
{
  for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
      continue;
    for (size_t n = 0; CMSG_LEN((n + 1) * sizeof(int)) <= c->cmsg_len; n++) {
      int fd;
      memcpy(&fd, CMSG_DATA(c) + n * sizeof fd, sizeof fd);
      note(connection, fd);
    }
  }
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
  bool memif = pg_in_interrupt_thread();
  if (memif)
    close_left();
  ssize_t n = syscall(SYS_recvmsg, fd, message, flags);
  if (memif && n >= 0 && message->msg_controllen > 0)
    note_all(fd, message);
  return n;
}
