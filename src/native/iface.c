/* SPDX-License-Identifier: Apache-2.0
 *
 * The MTU and flags of kernel interfaces, by ioctl (netdevice(7)): unlike /sys
 * that always shows the process's own network namespace.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if.h>

#include "api.h"
#include "internal.h"

static int request(const char *name, unsigned long what, struct ifreq *ifr)
{
  snprintf(ifr->ifr_name, sizeof ifr->ifr_name, "%s", name);
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  int status = fd < 0 ? -1 : ioctl(fd, what, ifr);
  int error = errno;
  if (fd >= 0)
    close(fd);
  return status < 0 ? pg_fail("%s: %s", name, strerror(error)) : 0;
}

/* Fill in `iface` from the interface `name`; 0, or -1 and pg_error(). */
int pg_iface_read(const char *name, struct iface *iface)
{
  struct ifreq ifr;
  if (request(name, SIOCGIFMTU, &ifr) < 0)
    return -1;
  iface->mtu = ifr.ifr_mtu;
  if (request(name, SIOCGIFFLAGS, &ifr) < 0)
    return -1;
  iface->flags = (uint16_t)ifr.ifr_flags;
  if (request(name, SIOCGIFHWADDR, &ifr) < 0)
    return -1;
  memcpy(iface->mac, ifr.ifr_hwaddr.sa_data, sizeof iface->mac);
  return 0;
}

/* Give the interface the MTU and the flags of `iface` (not its address). */
int pg_iface_write(const char *name, const struct iface *iface)
{
  struct ifreq ifr = {.ifr_mtu = iface->mtu};
  if (request(name, SIOCSIFMTU, &ifr) < 0)
    return -1;
  ifr.ifr_flags = iface->flags;
  return request(name, SIOCSIFFLAGS, &ifr);
}
