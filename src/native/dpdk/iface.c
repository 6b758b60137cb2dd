/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel interfaces: MTU and flags by ioctl (netdevice(7)), XDP programs and what was
 * dropped by netlink. Unlike /sys these always show the process's own network namespace.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>

#include "../api.h"
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

int pg_iface_hold_promiscuous(const char *name)
{
  struct packet_mreq all = {.mr_ifindex = if_nametoindex(name),
                            .mr_type = PACKET_MR_PROMISC};
  int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); /* receives nothing */
  if (fd >= 0 &&
      setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) == 0)
    return fd;
  if (fd >= 0)
    close(fd);
  return -1;
}

/* May frames come from the interface whose checksums nobody has computed? So it is with
 * veth pairs (veth(4)) while checksums are left to "the card" (ethtool(8), tx on): only
 * AF_PACKET is told of it. */
bool pg_iface_leaves_checksums(const char *name)
{
  struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
  struct ethtool_value tx = {.cmd = ETHTOOL_GTXCSUM};
  struct ifreq ifr = {.ifr_data = (void *)&driver};
  if (request(name, SIOCETHTOOL, &ifr) < 0 || strcmp(driver.driver, "veth") != 0)
    return false;
  ifr.ifr_data = (void *)&tx;
  return request(name, SIOCETHTOOL, &ifr) == 0 && tx.data != 0;
}

struct ask {
  struct nlmsghdr header;
  struct ifinfomsg link;
};

/* What the kernel tells of the interface (RTM_GETLINK of rtnetlink(7)); NULL if there is
 * none, or it doesn't tell. */
static struct nlmsghdr *ask_of(const char *name, void *answer, size_t size)
{
  struct ask ask = {
    .header = {.nlmsg_len = sizeof ask, .nlmsg_type = RTM_GETLINK,
               .nlmsg_flags = NLM_F_REQUEST},
    .link = {.ifi_index = if_nametoindex(name)}};
  struct nlmsghdr *link = answer;
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0)
    return NULL;
  ssize_t n = send(fd, &ask, sizeof ask, 0);
  if (n == sizeof ask)
    n = recv(fd, answer, size, 0);
  close(fd);
  return n > 0 && NLMSG_OK(link, n) && link->nlmsg_type == RTM_NEWLINK ? link : NULL;
}

/* The attribute of this type, or NULL. */
static struct rtattr *find(struct rtattr *a, int bytes, int type)
{
  for (; RTA_OK(a, bytes); a = RTA_NEXT(a, bytes))
    if ((a->rta_type & NLA_TYPE_MASK) == type)
      return a;
  return NULL;
}

static struct rtattr *of_link(struct nlmsghdr *link, int type)
{
  return find(IFLA_RTA(NLMSG_DATA(link)), IFLA_PAYLOAD(link), type);
}

enum { ANSWER_BYTES = 32768 };

/* The kernel's number of the XDP program that is attached to the interface, of whichever
 * process; 0 if there is none. */
uint32_t pg_iface_xdp_program(const char *name)
{
  _Alignas(NLMSG_ALIGNTO) char answer[ANSWER_BYTES];
  struct nlmsghdr *link = ask_of(name, answer, sizeof answer);
  struct rtattr *xdp = link ? of_link(link, IFLA_XDP) : NULL;
  static const int KINDS[] = {IFLA_XDP_PROG_ID, IFLA_XDP_DRV_PROG_ID,
                              IFLA_XDP_SKB_PROG_ID, IFLA_XDP_HW_PROG_ID};
  for (size_t i = 0; xdp && i < sizeof KINDS / sizeof *KINDS; i++) {
    struct rtattr *program = find(RTA_DATA(xdp), RTA_PAYLOAD(xdp), KINDS[i]);
    if (program)
      return *(uint32_t *)RTA_DATA(program);
  }
  return 0;
}

/* Is the interface's other end, or the one that it lies over, in another network
 * namespace (IFLA_LINK_NETNSID)? So it is with those that containers have: veth, macvlan. */
bool pg_iface_leads_elsewhere(const char *name)
{
  _Alignas(NLMSG_ALIGNTO) char answer[ANSWER_BYTES];
  struct nlmsghdr *link = ask_of(name, answer, sizeof answer);
  return link && of_link(link, IFLA_LINK_NETNSID);
}

/* Packets to send that the interface has dropped since it was made (IFLA_STATS64); -1 if
 * there is no interface of the name. */
double pg_iface_tx_dropped(const char *name)
{
  _Alignas(NLMSG_ALIGNTO) char answer[ANSWER_BYTES];
  struct rtnl_link_stats64 stats;
  struct nlmsghdr *link = ask_of(name, answer, sizeof answer);
  struct rtattr *told = link ? of_link(link, IFLA_STATS64) : NULL;
  if (!told || RTA_PAYLOAD(told) < offsetof(struct rtnl_link_stats64, multicast))
    return -1;
  memcpy(&stats, RTA_DATA(told), offsetof(struct rtnl_link_stats64, multicast));
  return stats.tx_dropped;
}
