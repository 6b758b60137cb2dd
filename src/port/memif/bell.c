/* SPDX-License-Identifier: Apache-2.0
 *
 * Waking a memif peer that waits for packets by an eventfd. A write to it may block: the
 * peer has the same open file, can take O_NONBLOCK off it and fill it. So the kernel is let
 * signal it as it completes a request of ours (io_submit(2), IOCB_FLAG_RESFD), which never
 * waits, and takes nothing but an eventfd.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../native/log.h"
#include "state.h"

enum { MOST_DONE = 128 };

static aio_context_t context;
static int zeros = -1; /* /dev/zero: of which a byte is read at once */

static void set_up(void)
{
  zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  if (zeros < 0 || syscall(SYS_io_setup, MOST_DONE, &context) < 0) {
    context = 0;
    pg_logf(LOG_WARNING, "this kernel lets nobody signal an eventfd without waiting "
            "(io_setup: %s): memif peers that wait for interrupts aren't woken",
            strerror(errno));
  }
}

static bool is_set_up(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, set_up);
  return context != 0;
}

/* 0, or an error number. */
static int submit(int fd)
{
  uint8_t byte;
  struct iocb request = {.aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = zeros,
                         .aio_buf = (uintptr_t)&byte, .aio_nbytes = 1,
                         .aio_flags = IOCB_FLAG_RESFD, .aio_resfd = fd};
  struct iocb *list[] = {&request};
  struct io_event done[MOST_DONE];
  struct timespec none = {0};
  for (int i = 0; i < 2; i++) {
    if (syscall(SYS_io_submit, context, 1, list) == 1)
      return 0;
    if (errno != EAGAIN)
      return errno;
    syscall(SYS_io_getevents, context, 0, MOST_DONE, done, &none);
  }
  return EAGAIN;
}

/* Is that an eventfd? (Rings it, which harms nobody.) */
bool pg_memif_is_bell(int fd)
{
  int error = is_set_up() ? submit(fd) : 0;
  return error == 0 || error == EAGAIN;
}

void pg_memif_wake(int fd)
{
  if (fd >= 0 && is_set_up())
    submit(fd);
}
