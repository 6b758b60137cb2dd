/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of libc and DPDK of the host binary's own, which net_memif calls in the place
 * of theirs, for bugs seen in DPDK 22.11.11. (Its ports are stopped and closed in DPDK's
 * interrupt thread, since nothing keeps that from using them meanwhile: dpdk/port.c.)
 *
 * - As the last port on a socket is closed, memif_socket_remove_device() removes the
 *   socket's file, but neither closes the descriptor nor takes its callback, which points
 *   at freed memory, out of the interrupt thread; nor those of connections that no port
 *   has taken yet. All that is done here as the file is removed.
 * - If a peer goes before it was sent the first message, memif_listener_handler() closes
 *   the connection and leaves the callback: the interrupt thread ends the process in
 *   rte_panic(). To a peer that has gone, messages are sent here with success; that it
 *   has gone is told by the next event of the connection, for which there is code.
 */
#define ALLOW_EXPERIMENTAL_API /* rte_intr_fd_get */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_interrupts.h>
#include <rte_malloc.h>

#include "interrupt_thread.h"
#include "memif.h"

enum { TRIES = 1000, PAUSE_US = 1000 };

/* A callback for a socket that a port serves, or for a connection to it. */
static struct served {
  struct served *next;
  struct rte_intr_handle *handle;
  rte_intr_callback_fn callback;
  void *argument;
  int fd;
  bool listens;
  struct sockaddr_un address;
} *served;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int option_of(int fd, int name)
{
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : 0;
}

/* Of memif: a Unix socket of sequenced packets with a name. */
static bool is_memif(int fd, struct sockaddr_un *address)
{
  socklen_t size = sizeof *address;
  memset(address, 0, sizeof *address);
  return option_of(fd, SO_TYPE) == SOCK_SEQPACKET &&
         getsockname(fd, (struct sockaddr *)address, &size) == 0 &&
         address->sun_family == AF_UNIX && size <= sizeof *address &&
         address->sun_path[0];
}

static void note(const struct rte_intr_handle *handle, rte_intr_callback_fn callback,
                 void *argument)
{
  struct sockaddr_un address;
  int fd = rte_intr_fd_get(handle);
  struct served *s;
  if (!is_memif(fd, &address) || !(s = malloc(sizeof *s)))
    return;
  pthread_mutex_lock(&lock);
  *s = (struct served){served, (struct rte_intr_handle *)handle, callback, argument, fd,
                       option_of(fd, SO_ACCEPTCONN), address};
  served = s;
  pthread_mutex_unlock(&lock);
}

static void forget(struct served *s)
{
  if (s && !s->listens)
    pg_memif_over(s->fd);
  free(s);
}

/* Take out the first that has this callback and argument, or else the path. */
static struct served *take(rte_intr_callback_fn callback, const void *argument,
                           const char *path)
{
  struct served *found = NULL;
  pthread_mutex_lock(&lock);
  for (struct served **at = &served; *at && !found; at = &(*at)->next)
    if (path ? strcmp((*at)->address.sun_path, path) == 0
             : (*at)->callback == callback && (*at)->argument == argument) {
      found = *at;
      *at = found->next;
      break;
    }
  pthread_mutex_unlock(&lock);
  return found;
}

int rte_intr_callback_register(const struct rte_intr_handle *handle,
                               rte_intr_callback_fn callback, void *argument)
{
  int (*real)(const struct rte_intr_handle *, rte_intr_callback_fn, void *) =
    dlsym(RTLD_NEXT, "rte_intr_callback_register");
  int status = real(handle, callback, argument);
  if (status == 0 && handle)
    note(handle, callback, argument);
  return status;
}

static int unregister(const struct rte_intr_handle *handle,
                      rte_intr_callback_fn callback, void *argument)
{
  int (*real)(const struct rte_intr_handle *, rte_intr_callback_fn, void *) =
    dlsym(RTLD_NEXT, "rte_intr_callback_unregister");
  return real(handle, callback, argument);
}

int rte_intr_callback_unregister(const struct rte_intr_handle *handle,
                                 rte_intr_callback_fn callback, void *argument)
{
  int status = unregister(handle, callback, argument);
  if (status > 0)
    forget(take(callback, argument, NULL));
  return status;
}

int rte_intr_callback_unregister_pending(const struct rte_intr_handle *handle,
                                         rte_intr_callback_fn callback, void *argument,
                                         rte_intr_unregister_callback_fn afterwards)
{
  int (*real)(const struct rte_intr_handle *, rte_intr_callback_fn, void *,
              rte_intr_unregister_callback_fn) =
    dlsym(RTLD_NEXT, "rte_intr_callback_unregister_pending");
  int status = real(handle, callback, argument, afterwards);
  if (status > 0)
    forget(take(callback, argument, NULL));
  return status;
}

/* Wait while the callback runs; a connection is freed, as no port will do it. */
static void end(const struct served *s)
{
  int status = -EAGAIN;
  for (int i = 0; i < TRIES && status == -EAGAIN; i++) {
    status = unregister(s->handle, s->callback, s->argument);
    if (status == -EAGAIN)
      usleep(PAUSE_US);
  }
  if (status < 0)
    return;
  close(s->fd);
  if (!s->listens) {
    rte_intr_instance_free(s->handle);
    rte_free(s->argument);
  }
}

int remove(const char *path)
{
  int (*real)(const char *) = dlsym(RTLD_NEXT, "remove");
  struct served *s;
  while ((s = take(NULL, NULL, path)) != NULL) {
    end(s);
    forget(s);
  }
  return real(path);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
  ssize_t status = syscall(SYS_sendmsg, fd, message, flags);
  if (status >= 0 || (errno != EPIPE && errno != ECONNRESET) ||
      !pg_in_interrupt_thread() || option_of(fd, SO_TYPE) != SOCK_SEQPACKET)
    return status;
  status = 0;
  for (size_t i = 0; i < message->msg_iovlen; i++)
    status += message->msg_iov[i].iov_len;
  return status;
}
