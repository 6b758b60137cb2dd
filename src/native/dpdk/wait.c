/* SPDX-License-Identifier: Apache-2.0
 *
 * Sleeping until something happens: each engine's thread has a set of descriptors
 * (epoll(7)), those of its ports and of who asks from outside, and a bell that other
 * threads and signal handlers ring.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rte_branch_prediction.h>
#include <rte_cycles.h>

#include "../api.h"
#include "../host.h"
#include "clock.h"
#include "internal.h"
#include "times.h"

enum { SAMPLED = 64 }; /* of so many sleeps one is measured */

static _Thread_local struct {
  int epoll;     /* 0: none yet */
  uint32_t sleeps;
  double cost;   /* seconds of CPU time that a sleep takes */
} set = {.cost = 5e-6};

static int add(int fd, uint32_t events, uint32_t woken)
{
  struct epoll_event event = {.events = events,
                              .data.u64 = (uint64_t)woken << 32 | (uint32_t)fd};
  return epoll_ctl(set.epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Bells of threads that have ended. They are never closed: who rings one late wakes
 * another thread for nothing, instead of writing to whatever has its number now. */
static struct {
  pthread_mutex_t lock;
  int bell[RTE_MAX_LCORE];
  int n;
} spare = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int new_bell(void)
{
  pthread_mutex_lock(&spare.lock);
  int bell = spare.n > 0 ? spare.bell[--spare.n] : 0;
  pthread_mutex_unlock(&spare.lock);
  return bell > 0 ? bell : eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

static void keep_bell(int bell)
{
  pthread_mutex_lock(&spare.lock);
  if (spare.n < RTE_MAX_LCORE)
    spare.bell[spare.n++] = bell;
  pthread_mutex_unlock(&spare.lock);
}

/* This thread's bell: its descriptor, or -1. */
int pg_wait_bell(void)
{
  struct reader *r = pg_reader;
  if (r->bell <= 0)
    __atomic_store_n(&r->bell, new_bell(), __ATOMIC_RELEASE);
  return r->bell;
}

/* Wake the thread that has the bell. For signal handlers, too. */
void pg_wait_ring(int bell)
{
  const uint64_t one = 1;
  int before = errno;
  if (bell > 0 && write(bell, &one, sizeof one) < 0)
    errno = before; /* it has been rung 2^64 - 2 times */
}

void pg_wait_leave(void)
{
  if (set.epoll > 0)
    close(set.epoll);
  set.epoll = 0;
  int bell = __atomic_exchange_n(&pg_reader->bell, 0, __ATOMIC_ACQ_REL);
  if (bell > 0)
    keep_bell(bell);
}

/* Let this thread's set be empty, but for its bell: 0, or -1. Timers are to be as
 * exact as they can. */
int pg_wait_clear(void)
{
  if (set.epoll > 0)
    close(set.epoll);
  else
    prctl(PR_SET_TIMERSLACK, 1000);
  set.epoll = epoll_create1(EPOLL_CLOEXEC);
  if (set.epoll < 0 || pg_wait_bell() < 0)
    return -1;
  return add(pg_reader->bell, EPOLLIN | EPOLLET, WOKEN_BY_BELL);
}

/* Let this descriptor wake the thread: WOKEN_BY_PORT or the like. `counts`: it is one
 * that counts (eventfd(2)), and which nobody reads. 0, or -1. */
int pg_wait_add(int fd, int woken, bool counts)
{
  int status = add(fd, EPOLLIN | (counts ? (uint32_t)EPOLLET : 0), woken);
  return status < 0 && errno == EEXIST ? 0 : status;
}

static int wait_for(struct epoll_event *events, int most, double seconds)
{
  struct timespec t = {.tv_sec = (time_t)seconds};
  t.tv_nsec = (seconds - (double)t.tv_sec) * 1e9;
  int n = epoll_pwait2(set.epoll, events, most, &t, NULL);
  if (n < 0 && errno == ENOSYS)
    n = epoll_wait(set.epoll, events, most, (int)(seconds * 1e3));
  return n;
}

/* An error that a socket tells of, such as an interface that went down, is told once. */
static void forget_error(int fd)
{
  int error;
  socklen_t size = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
}

static int sleep_for(double seconds)
{
  enum { MOST = 8 };
  struct epoll_event events[MOST];
  int woken = 0;
  int n = wait_for(events, MOST, seconds);
  for (int i = 0; i < n; i++) {
    woken |= (int)(events[i].data.u64 >> 32);
    if (unlikely(events[i].events & (EPOLLERR | EPOLLHUP)))
      forget_error((int)(uint32_t)events[i].data.u64);
  }
  return woken;
}

/* Sleep until a descriptor of the set is ready, a signal comes, or for so long: what
 * woke it (bits), 0 if none of the descriptors did. */
int pg_wait(double seconds)
{
  bool measured = set.sleeps++ % SAMPLED == 0;
  uint64_t cpu = measured ? ns_of(CLOCK_THREAD_CPUTIME_ID) : 0;
  uint64_t began = rte_rdtsc();
  pg_clock_sleeps(true);
  int woken = sleep_for(seconds);
  pg_clock_sleeps(false);
  pg_slept_cycles += rte_rdtsc() - began;
  if (measured)
    set.cost += ((ns_of(CLOCK_THREAD_CPUTIME_ID) - cpu) * 1e-9 - set.cost) / 8;
  return woken;
}

/* The same for this descriptor alone, whatever the set has: is it ready? */
bool pg_wait_for(int fd, double seconds)
{
  struct pollfd on = {.fd = fd, .events = POLLIN};
  struct timespec t = {.tv_sec = (time_t)seconds};
  t.tv_nsec = (seconds - (double)t.tv_sec) * 1e9;
  uint64_t began = rte_rdtsc();
  pg_clock_sleeps(true);
  bool ready = ppoll(&on, 1, &t, NULL) > 0;
  pg_clock_sleeps(false);
  pg_slept_cycles += rte_rdtsc() - began;
  if (unlikely(on.revents & (POLLERR | POLLHUP)))
    forget_error(fd);
  return ready && on.revents & POLLIN;
}

/* Seconds of CPU time that such a sleep takes, as measured of late. */
double pg_wait_cost(void)
{
  return set.cost;
}
