/* SPDX-License-Identifier: Apache-2.0
 *
 * An ioctl() of the host binary's own, which DPDK's drivers call in the place of libc's:
 * net_tap and net_af_xdp change the kernel interface that they are given, and neither
 * puts it back, nor could anybody after kill -9. net_tap gives a TAP that was there
 * another address and an MTU of 1,500, and takes it down at its end; both clear, or set,
 * its promiscuous flag (seen in DPDK 22.11.11). In a thread that says which interface it
 * keeps, that one is brought up, and stays as it is otherwise.
 */
#include <net/if.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/sockios.h>

#include "../api.h"
#include "../dpdk/internal.h"

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

int ioctl(int fd, unsigned long request, ...)
{
  va_list arguments;
  va_start(arguments, request);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  if (kept[0] && changes_kept(request, argument))
    return request == SIOCSIFFLAGS ? bring_up(fd, argument) : 0;
  return syscall(SYS_ioctl, fd, request, argument);
}
