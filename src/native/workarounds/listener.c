/* SPDX-License-Identifier: Apache-2.0
 *
 * A remove() and an rte_intr_callback_register() of the host binary's own, which
 * DPDK's drivers call in the place of libc's and DPDK's, for a bug of net_memif seen in
 * DPDK 22.11.11: as the last port on a socket is closed, memif_socket_remove_device()
 * removes the socket's file, but neither closes the descriptor nor takes its callback,
 * which points at freed memory, out of DPDK's interrupt thread. Both is done here as
 * the file is removed. Where the callback is gone already, DPDK has learnt it, and nothing
 * is done.
 */
#define ALLOW_EXPERIMENTAL_API /* rte_intr_fd_get */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_interrupts.h>

enum { TRIES = 1000, PAUSE_US = 1000 };

static struct listener {
  struct listener *next;
  const struct rte_intr_handle *handle;
  rte_intr_callback_fn callback;
  void *argument;
  int fd;
  struct sockaddr_un address;
} *listeners;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Of memif: a Unix socket of sequenced packets that listens, and where. */
static int is_listener(int fd, struct sockaddr_un *address)
{
  int listens = 0, type = 0;
  socklen_t size = sizeof *address, int_size = sizeof listens;
  memset(address, 0, sizeof *address);
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &int_size) == 0 &&
         listens &&
         getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &int_size) == 0 &&
         type == SOCK_SEQPACKET &&
         getsockname(fd, (struct sockaddr *)address, &size) == 0 &&
         address->sun_family == AF_UNIX && size <= sizeof *address;
}

static void note(const struct rte_intr_handle *handle, rte_intr_callback_fn callback,
                 void *argument)
{
  struct sockaddr_un address;
  int fd = rte_intr_fd_get(handle);
  struct listener *listener;
  if (!is_listener(fd, &address) || !(listener = malloc(sizeof *listener)))
    return;
  pthread_mutex_lock(&lock);
  *listener = (struct listener){listeners, handle, callback, argument, fd, address};
  listeners = listener;
  pthread_mutex_unlock(&lock);
}

static struct listener *take(const char *path)
{
  struct listener *found = NULL;
  pthread_mutex_lock(&lock);
  for (struct listener **at = &listeners; *at && !found; at = &(*at)->next)
    if (strcmp((*at)->address.sun_path, path) == 0) {
      found = *at;
      *at = found->next;
      break;
    }
  pthread_mutex_unlock(&lock);
  return found;
}

/* Wait while the callback runs; 0 or more if it was there. */
static int take_callback(const struct listener *listener)
{
  int status = -EAGAIN;
  for (int i = 0; i < TRIES && status == -EAGAIN; i++) {
    status = rte_intr_callback_unregister(listener->handle, listener->callback,
                                          listener->argument);
    if (status == -EAGAIN)
      usleep(PAUSE_US);
  }
  return status;
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

int remove(const char *path)
{
  int (*real)(const char *) = dlsym(RTLD_NEXT, "remove");
  struct listener *listener = take(path);
  if (listener && take_callback(listener) >= 0)
    close(listener->fd);
  free(listener);
  return real(path);
}
