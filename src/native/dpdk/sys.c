/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU time and sleep for the engine, broken pipes, and connections to local sockets.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "../api.h"
#include "internal.h"
#include "times.h"

_Thread_local uint64_t pg_slept_cycles;

/* Nanoseconds of the clock of pg_monotonic(). */
uint64_t pg_monotonic_ns(void)
{
  return ns_of(CLOCK_MONOTONIC);
}

/* Nanoseconds of a clock that nobody sets, not even its rate. */
uint64_t pg_raw_ns(void)
{
  return ns_of(CLOCK_MONOTONIC_RAW);
}

/* CPU time of this process. */
double pg_cpu_seconds(void)
{
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

/* CPU time of this thread. */
double pg_thread_cpu_seconds(void)
{
  return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

/* Its second number, in seconds; 0 where the kernel doesn't tell. */
static double delay_of(const char *schedstat)
{
  char text[64] = "";
  int fd = open(schedstat, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return 0;
  ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  const char *second = size > 0 ? strchr(text, ' ') : NULL;
  return second ? strtoull(second, NULL, 10) / 1e9 : 0;
}

/* For how long this thread has waited for a CPU while others had it: the second number of
 * /proc/PID/schedstat. */
double pg_run_delay(void)
{
  return delay_of("/proc/thread-self/schedstat");
}

/* The same of the thread of that number, which may be another process's; 0 if there is no
 * such thread. */
double pg_run_delay_of(int32_t tid)
{
  char path[48];
  snprintf(path, sizeof path, "/proc/%d/schedstat", tid);
  return delay_of(path);
}

/* Sleep, or return early when a signal comes. */
void pg_sleep(double seconds)
{
  struct timespec t = {.tv_sec = (time_t)seconds};
  t.tv_nsec = (seconds - t.tv_sec) * 1e9;
  uint64_t began = rte_rdtsc();
  pg_clock_sleeps(true);
  nanosleep(&t, NULL);
  pg_clock_sleeps(false);
  pg_slept_cycles += rte_rdtsc() - began;
}

static atomic_bool failed;

/* Something that the program was to do was not done, though it goes on: it is to end
 * with an exit status that tells. For any thread. */
void pg_note_failure(void)
{
  atomic_store(&failed, true);
}

/* For specs, which see to it that things fail. */
void pg_forget_failure(void)
{
  atomic_store(&failed, false);
}

bool pg_has_failed(void)
{
  return atomic_load(&failed);
}

static void on_broken_pipe(int number)
{
  struct pollfd output[] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};
  if (poll(output, 2, 0) > 0 &&
      (output[0].revents | output[1].revents) & POLLERR) {
    signal(number, SIG_DFL);
    raise(number);
  }
}

static void on_full_file(int number)
{
  (void)number; /* write(2) and ftruncate(2) return EFBIG */
}

/* What can't be written is an error of who writes it, and says so. A socket's other end
 * may have died (some drivers write to such, net_virtio_user): SIGPIPE ends the process
 * only when nobody reads its output. A limit on the size of files (setrlimit(2)) is like
 * a full disk: SIGXFSZ does nothing. Handlers, since children would inherit SIG_IGN. */
void pg_survive_writes(void)
{
  struct sigaction broken = {.sa_handler = on_broken_pipe};
  struct sigaction full = {.sa_handler = on_full_file, .sa_flags = SA_RESTART};
  sigaction(SIGPIPE, &broken, NULL);
  sigaction(SIGXFSZ, &full, NULL);
}

/* A connection to who serves the socket, which doesn't block; -1 and errno. */
int pg_connect_local(const struct sockaddr_un *address, int type)
{
  int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) == 0)
    return fd;
  int error = errno;
  if (fd >= 0)
    close(fd);
  errno = error;
  return -1;
}
