/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens and closes AF_PACKET ports (packet(7)). All of it works with CAP_NET_RAW alone,
 * and ends with the process: promiscuous mode is a membership of the socket, and who
 * sends holds the name of a Unix socket, of which there is one a network namespace.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/if_ether.h>

#include "../../native/api.h"
#include "../../native/driver.h"
#include "../../native/host.h"
#include "../../native/passed.h"
#include "state.h"

/* Bytes of a frame where there is no interface yet. */
enum { USUAL_MTU = 1500 };

static int join_interface(int fd, int ifindex, uint16_t protocol)
{
  struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = ifindex,
                                .sll_protocol = htons(protocol)};
  return bind(fd, (struct sockaddr *)&address, sizeof address);
}

static int ask(const struct packet_socket *s, unsigned long what, struct ifreq *ifr)
{
  memset(ifr, 0, sizeof *ifr);
  return if_indextoname(s->ifindex, ifr->ifr_name) ? ioctl(s->receive, what, ifr) : -1;
}

static int be_promiscuous(const struct packet_socket *s, int option)
{
  struct packet_mreq all = {.mr_ifindex = s->ifindex, .mr_type = PACKET_MR_PROMISC};
  return setsockopt(s->receive, SOL_PACKET, option, &all, sizeof all);
}

/* Hold what only one process may have of an interface in its network namespace. */
int pg_packet_take_lock(struct packet_socket *s)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX}; /* an abstract one: unix(7) */
  int n = snprintf(address.sun_path + 1, sizeof address.sun_path - 1,
                   "perigee/packet/%d", s->ifindex);
  s->lock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (s->lock >= 0 && bind(s->lock, (struct sockaddr *)&address,
                           offsetof(struct sockaddr_un, sun_path) + 1 + n) == 0)
    return 0;
  if (s->lock >= 0)
    close(s->lock);
  s->lock = -1;
  return -1;
}

static int close_port(struct port *port)
{
  struct packet_socket *s = port->state;
  int sockets[] = {s->receive, s->unused, s->send, s->send_joined, s->lock};
  for (unsigned i = 0; i < RTE_DIM(sockets); i++)
    if (sockets[i] >= 0)
      close(sockets[i]);
  if (s->ring.memory)
    munmap(s->ring.memory, (size_t)s->ring.block_bytes * s->ring.blocks);
  rte_pktmbuf_free_bulk(s->spare, s->spares);
  rte_pktmbuf_free_bulk(s->segments + s->first_segment,
                        s->end_segment - s->first_segment);
  free(s);
  port->state = NULL;
  return 0;
}

static void read_stats(const struct port *port, struct port_stats *stats)
{
  struct packet_socket *s = port->state;
  struct tpacket_stats kernel;
  socklen_t size = sizeof kernel;
  /* Since it was read last. */
  if (getsockopt(s->receive, SOL_PACKET, PACKET_STATISTICS, &kernel, &size) == 0)
    s->counts.imissed += kernel.tp_drops;
  *stats = s->counts;
}

static int read_link(const struct port *port, struct port_link *link)
{
  struct ifreq ifr;
  if (ask(port->state, SIOCGIFFLAGS, &ifr) < 0)
    return pg_fail("the interface is away");
  *link = (struct port_link){.up = (ifr.ifr_flags & IFF_RUNNING) != 0,
                             .full_duplex = 1};
  return 0;
}

static int read_mac(const struct port *port, uint8_t *mac)
{
  const struct packet_socket *s = port->state;
  if (!s->ifindex)
    return pg_fail("there is no kernel interface '%s' yet", s->name);
  memcpy(mac, s->mac, sizeof s->mac);
  return 0;
}

const struct own_driver pg_packet_driver = {
  .name = "AF_PACKET", .receive = pg_packet_receive, .send = pg_packet_send,
  .stats = read_stats, .link = read_link, .mac = read_mac, .close = close_port};

const struct own_driver pg_packet_away_driver = {
  .name = "AF_PACKET", .receive = pg_receive_nothing, .send = pg_send_nowhere,
  .stats = read_stats, .link = read_link, .mac = read_mac, .close = close_port};

/* Frames may be as long as the interface's MTU is now; -1 if the interface is away. */
int pg_packet_fit_mtu(struct port *port)
{
  const struct packet_socket *s = port->state;
  struct ifreq ifr = {0};
  strcpy(ifr.ifr_name, s->name);
  if (ioctl(s->receive, SIOCGIFMTU, &ifr) < 0)
    return -1;
  port->max_frame =
    RTE_MIN(ifr.ifr_mtu + ETHERNET_HEADER, (int)PACKET_MAX_PAYLOAD);
  return 0;
}

int pg_packet_find(struct packet_socket *s)
{
  const char *name = s->name;
  struct ifreq ifr;
  s->ifindex = if_nametoindex(name);
  if (s->ifindex == 0 || ask(s, SIOCGIFHWADDR, &ifr) < 0)
    return pg_fail("there is no kernel interface '%s' (any more)", name);
  if (ifr.ifr_hwaddr.sa_family != ARPHRD_ETHER &&
      ifr.ifr_hwaddr.sa_family != ARPHRD_LOOPBACK)
    return pg_fail("the interface '%s' doesn't carry Ethernet frames (its type is %d)",
                   name, ifr.ifr_hwaddr.sa_family);
  memcpy(s->mac, ifr.ifr_hwaddr.sa_data, sizeof s->mac);
  return 0;
}

/* Receive all that comes, or the port's share; or nothing of it. */
static int filter(const struct packet_socket *s, bool nothing)
{
  if (s->copies && !nothing)
    return pg_packet_take_share(s->receive, s->copies, s->copy, s->by);
  struct sock_filter drop = {.code = BPF_RET | BPF_K, .k = 0};
  struct sock_fprog program = {.len = 1, .filter = &drop};
  int none = 0;
  return nothing ? setsockopt(s->receive, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                              sizeof program)
                 : setsockopt(s->receive, SOL_SOCKET, SO_DETACH_FILTER, &none,
                              sizeof none);
}

int pg_packet_join(struct packet_socket *s)
{
  if (s->send >= 0 && s->alone && pg_packet_take_lock(s) < 0 && !s->takes_over)
    return pg_fail("another process sends on '%s' by a packet port already; end that "
                   "first, or write shared=1 to send as well", s->name);
  if (s->send >= 0 && (join_interface(s->send, s->ifindex, 0) < 0 ||
                       join_interface(s->send_joined, s->ifindex, 0) < 0))
    return pg_fail("can't send to '%s': %s", s->name, strerror(errno));
  if (s->joined) {
    s->joined = false; /* when it comes back it isn't */
    return 0;
  }
  if (filter(s, false) < 0 && s->copies)
    return -1;
  if (be_promiscuous(s, PACKET_ADD_MEMBERSHIP) < 0 ||
      join_interface(s->receive, s->ifindex, ETH_P_ALL) < 0)
    return pg_fail("can't receive from '%s': %s", s->name, strerror(errno));
  return 0;
}

/* It may be there under another name: then what comes there isn't wanted. A bind() to no
 * interface would be one to all of them. */
void pg_packet_leave(struct packet_socket *s)
{
  filter(s, true);
  if (s->ifindex)
    be_promiscuous(s, PACKET_DROP_MEMBERSHIP);
  if (s->lock >= 0)
    close(s->lock);
  s->lock = -1;
}

/* Without an interface: one that `waits` for it gets a ring for the usual frames. */
static bool is_there(struct port *port, bool waits)
{
  struct packet_socket *s = port->state;
  struct iface iface;
  if (waits && (pg_iface_read(s->name, &iface) < 0 || !(iface.flags & IFF_UP)))
    s->away = true;
  return s->away || (pg_packet_find(s) >= 0 && pg_packet_fit_mtu(port) >= 0);
}

static int open_receiver(struct port *port, uint32_t frames, bool waits)
{
  struct packet_socket *s = port->state;
  s->receive = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (s->receive < 0)
    return pg_fail("there is no socket for it: %s", strerror(errno));
  if (!is_there(port, waits))
    return -1;
  uint32_t mtu = s->away ? USUAL_MTU : port->max_frame - ETHERNET_HEADER;
  if (pg_packet_receiver(s) < 0)
    return pg_fail("this kernel's AF_PACKET is too old (Linux 4.20 will do): %s",
                   strerror(errno));
  if (pg_packet_map_ring(s, mtu, frames) < 0)
    return pg_fail("the kernel has no ring of %u frames for it (%s); ask for fewer "
                   "with ring=N", frames, strerror(errno));
  return 0;
}

static int open_senders(struct packet_socket *s)
{
  s->send = pg_packet_sender(false);
  s->send_joined = pg_packet_sender(true);
  return s->send < 0 || s->send_joined < 0
           ? pg_fail("can't send to '%s': %s", s->name, strerror(errno))
           : 0;
}

int pg_packet_begin(struct port *port, const char *name, uint32_t frames, bool sends,
                    bool waits)
{
  struct packet_socket *s = calloc(1, sizeof *s);
  if (!s)
    return pg_fail("no memory");
  s->receive = s->unused = s->send = s->send_joined = s->lock = -1;
  snprintf(s->name, sizeof s->name, "%s", name);
  pg_port_own(port, &pg_packet_driver, s);
  port->min_frame = ETHERNET_HEADER;
  snprintf(port->name, sizeof port->name, "packet:%s", name);
  if (open_receiver(port, frames, waits) == 0 && (!sends || open_senders(s) == 0))
    return 0;
  close_port(port);
  return -1;
}

/* Open the kernel interface `name`, with a ring of at least `frames` frames to receive.
 * `sends`: also send, `alone`: unless another process does. One that `waits` is opened
 * without the interface, too. Unless `copies` is 0, only what is for number `copy` of so
 * many is received (enum flows_by). 0, or -1 and pg_error(). */
int pg_packet_open(struct port *port, const char *name, uint32_t frames, bool sends,
                   bool alone, bool waits, uint32_t copies, uint32_t copy, int32_t by)
{
  bool prepared = pg_packet_take_prepared(port, name, frames, sends);
  if (!prepared && pg_packet_begin(port, name, frames, sends, waits) < 0)
    return -1;
  struct packet_socket *s = port->state;
  s->alone = alone;
  s->copies = copies;
  s->copy = copy;
  s->by = by;
  s->takes_over = prepared || pg_passed_taking();
  if (s->takes_over && !s->away)
    pg_packet_use_passed(s);
  if (s->away)
    pg_packet_go_away(port);
  else if (pg_packet_join(s) < 0)
    return close_port(port), -1;
  return 0;
}

/* The descriptor that is ready while frames wait in the ring. */
int pg_packet_descriptor(const struct port *port)
{
  const struct packet_socket *s = port->state;
  return s->receive;
}
