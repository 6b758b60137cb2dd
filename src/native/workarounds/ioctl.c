/* SPDX-License-Identifier: Apache-2.0
 *
 * An ioctl() of the host binary's own, which DPDK's drivers call in the place of libc's:
 * net_tap and net_af_xdp change the kernel interface that they are given, and neither
 * puts it back, nor could anybody after kill -9. net_tap gives a TAP that was there
 * another address and an MTU of 1,500, and takes it down at its end; both clear, or set,
 * its promiscuous flag (seen in DPDK 22.11.11). In a thread that says which interface it
 * keeps, that one is brought up, and stays as it is otherwise.
 *
 * net_tap also opens a TAP several times, as many queues, which the kernel refuses for one
 * that was made without multi_queue. That one is opened once, and its descriptor doubled.
 * So is one that another process has passed to this one (pg_tap_give): the descriptor is
 * the interface, and has the frames that wait.
 */
#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/if_tun.h>
#include <linux/sockios.h>

#include "../api.h"
#include "../host.h"

static _Thread_local char kept[IFNAMSIZ];

void pg_iface_keep(const char *name)
{
  snprintf(kept, sizeof kept, "%s", name);
}

static bool changes_kept(unsigned long request, const struct ifreq *ifr)
{
  return (request == SIOCSIFMTU || request == SIOCSIFHWADDR ||
          request == SIOCSIFFLAGS) &&
         strncmp(ifr->ifr_name, kept, sizeof kept) == 0;
}

static int bring_up(int fd, const struct ifreq *wanted)
{
  struct ifreq now = *wanted;
  if (!(wanted->ifr_flags & IFF_UP))
    return 0;
  if (syscall(SYS_ioctl, fd, SIOCGIFFLAGS, &now) < 0)
    return -1;
  if (now.ifr_flags & IFF_UP)
    return 0;
  now.ifr_flags |= IFF_UP;
  return syscall(SYS_ioctl, fd, SIOCSIFFLAGS, &now);
}

/* TAPs without multi_queue that were opened here. */
enum { SINGLES = 64 };
static int singles[SINGLES];
static unsigned nsingles;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* Is the descriptor one of the TAP `name` (NULL: any), of one queue? */
static bool is_single(int fd, const char *name)
{
  struct ifreq now;
  memset(&now, 0, sizeof now);
  return syscall(SYS_ioctl, fd, TUNGETIFF, &now) == 0 &&
         !(now.ifr_flags & IFF_MULTI_QUEUE) &&
         (!name || strncmp(now.ifr_name, name, IFNAMSIZ) == 0);
}

static int open_single(int fd, struct ifreq *ifr)
{
  for (unsigned i = 0; i < nsingles; i++)
    if (singles[i] != fd && is_single(singles[i], ifr->ifr_name))
      return dup2(singles[i], fd) < 0 ? -1 : 0;
  ifr->ifr_flags &= ~IFF_MULTI_QUEUE;
  if (syscall(SYS_ioctl, fd, TUNSETIFF, ifr) < 0)
    return -1;
  unsigned place = 0;
  while (place < nsingles && is_single(singles[place], NULL))
    place++;
  if (place < SINGLES) {
    singles[place] = fd;
    nsingles = place == nsingles ? place + 1 : nsingles;
  }
  return 0;
}

/* TAPs whose descriptors another process has passed. */
static int given[SINGLES];
static unsigned ngiven;

/* Is the descriptor's interface in another network namespace? */
static bool is_elsewhere(int fd)
{
  struct stat there, here;
  int ns = syscall(SYS_ioctl, fd, TUNGETDEVNETNS, NULL);
  if (ns < 0)
    return false; /* Linux < 5.2 can't say */
  bool elsewhere = fstat(ns, &there) < 0 || stat("/proc/self/ns/net", &here) < 0 ||
                   there.st_ino != here.st_ino || there.st_dev != here.st_dev;
  close(ns);
  return elsewhere;
}

bool pg_tap_give(int fd)
{
  struct ifreq now;
  memset(&now, 0, sizeof now);
  bool is_tap = syscall(SYS_ioctl, fd, TUNGETIFF, &now) == 0 &&
                (now.ifr_flags & IFF_TAP) && (now.ifr_flags & IFF_NO_PI) &&
                !(now.ifr_flags & (IFF_VNET_HDR | IFF_DETACH_QUEUE)) && !is_elsewhere(fd);
  pthread_mutex_lock(&opening);
  bool taken = is_tap && ngiven < SINGLES;
  if (taken)
    given[ngiven++] = fd;
  pthread_mutex_unlock(&opening);
  return taken;
}

void pg_tap_forget(void)
{
  pthread_mutex_lock(&opening);
  while (ngiven > 0)
    close(given[--ngiven]);
  pthread_mutex_unlock(&opening);
}

/* The descriptor passed of the TAP `name`, or -1. */
static int given_of(const char *name)
{
  int found = -1;
  pthread_mutex_lock(&opening);
  for (unsigned i = 0; i < ngiven && found < 0; i++) {
    struct ifreq now;
    memset(&now, 0, sizeof now);
    if (syscall(SYS_ioctl, given[i], TUNGETIFF, &now) == 0 &&
        strncmp(now.ifr_name, name, IFNAMSIZ) == 0)
      found = given[i];
  }
  pthread_mutex_unlock(&opening);
  return found;
}

/* Another queue would be taken from this one, with its frames. */
static bool is_given(int fd)
{
  struct ifreq now;
  memset(&now, 0, sizeof now);
  return syscall(SYS_ioctl, fd, TUNGETIFF, &now) == 0 && given_of(now.ifr_name) >= 0;
}

static int open_tap(int fd, struct ifreq *ifr)
{
  int passed = given_of(ifr->ifr_name);
  if (passed >= 0)
    return dup2(passed, fd) < 0 ? -1 : 0;
  int result = syscall(SYS_ioctl, fd, TUNSETIFF, ifr);
  if (result == 0 || errno != EINVAL || !(ifr->ifr_flags & IFF_MULTI_QUEUE))
    return result;
  pthread_mutex_lock(&opening);
  result = open_single(fd, ifr);
  pthread_mutex_unlock(&opening);
  return result;
}

int ioctl(int fd, unsigned long request, ...)
{
  va_list arguments;
  va_start(arguments, request);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  if (kept[0] && changes_kept(request, argument))
    return request == SIOCSIFFLAGS ? bring_up(fd, argument) : 0;
  if (kept[0] && request == TUNSETIFF)
    return open_tap(fd, argument);
  if (kept[0] && request == TUNSETQUEUE && (is_single(fd, NULL) || is_given(fd)))
    return 0; /* there is no other */
  return syscall(SYS_ioctl, fd, request, argument);
}
