/* SPDX-License-Identifier: Apache-2.0
 *
 * AF_PACKET ports whose interface goes away and comes back. The sockets and the ring
 * stay, and are bound to whichever interface has the name next: other threads may be in
 * the middle of a burst meanwhile.
 */
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

#include "../../native/api.h"
#include "../../native/driver.h"
#include "../../native/host.h"
#include "state.h"

void pg_packet_go_away(struct port *port)
{
  struct packet_socket *s = port->state;
  s->away = true;
  pg_packet_leave(s);
  pg_port_set_gone(port);
  __atomic_store_n(&port->own, &pg_packet_away_driver, __ATOMIC_RELEASE);
}

/* Join the interface that has the name now, if it is up: 0, or -1. */
static int come_back(struct port *port)
{
  struct packet_socket *s = port->state;
  struct iface iface;
  if (pg_iface_read(s->name, &iface) < 0 || !(iface.flags & IFF_UP))
    return -1;
  if (pg_packet_find(s) < 0 || pg_packet_join(s) < 0) {
    pg_packet_leave(s);
    return -1;
  }
  s->away = false;
  port->min_frame = ETHERNET_HEADER;
  port->gone = 0;
  __atomic_store_n(&port->own, &pg_packet_driver, __ATOMIC_RELEASE);
  return pg_packet_fit_mtu(port);
}

/* (if_nametoindex() would open a socket for it.) */
static bool is_there(struct port *port)
{
  const struct packet_socket *s = port->state;
  struct ifreq ifr = {0};
  strcpy(ifr.ifr_name, s->name);
  return ioctl(s->receive, SIOCGIFINDEX, &ifr) == 0 && ifr.ifr_ifindex == s->ifindex &&
         pg_packet_fit_mtu(port) == 0;
}

/* Frames may have another length now, and the interface may have gone, or be back: -1
 * while it is away. */
int pg_packet_tend(struct port *port)
{
  struct packet_socket *s = port->state;
  if (s->away)
    return come_back(port);
  if (s->takes_over && s->lock < 0 && s->send >= 0 && s->alone)
    pg_packet_take_lock(s); /* once the kernel has closed the other one's */
  if (is_there(port))
    return 0;
  pg_packet_go_away(port);
  return -1;
}
