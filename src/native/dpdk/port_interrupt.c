/* SPDX-License-Identifier: Apache-2.0
 *
 * Cards that interrupt when something comes (rte_eth_dev_rx_intr_enable). Drivers may
 * promise that and not do it. So an engine relies on interrupts once they have come with
 * packets, and looks at the card until then.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "../api.h"
#include "internal.h"

enum { PROOFS = 2, MOST_MISSES = 3 };

/* The descriptor that is ready when there is something to receive; -1 if the driver can't
 * tell. */
int pg_port_descriptor(const struct port *port)
{
  return port->interrupts && !port->gone
           ? rte_eth_dev_rx_intr_ctl_q_get_fd(port->id, port->queue)
           : -1;
}

static bool is_eventfd(int fd)
{
  char path[64], name[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(path, name, sizeof name - 1);
  name[n < 0 ? 0 : n] = 0;
  return strcmp(name, "anon_inode:[eventfd]") == 0;
}

/* Has it interrupted with the packets that have come since the last call? Each call lets
 * it interrupt again. True once that is known to work. */
bool pg_port_interrupts(struct port *port)
{
  struct port_proof *proof = &port->proof;
  uint64_t counted;
  int fd = proof->given >= PROOFS ? -1 : pg_port_descriptor(port);
  if (fd < 0)
    return port->interrupts && proof->given >= PROOFS;
  bool came = port->rxpackets != proof->seen;
  bool told = is_eventfd(fd) && read(fd, &counted, sizeof counted) == sizeof counted;
  if (came && proof->waits)
    told ? proof->given++ : proof->missed++;
  if (proof->missed >= MOST_MISSES)
    port->interrupts = 0;
  proof->seen = port->rxpackets;
  proof->waits = true;
  pg_port_notify(port, port->interrupts);
  return proof->given >= PROOFS;
}

/* Let the card tell of packets by its descriptor, or no more. What came before is in its
 * ring by the next look. */
uint32_t pg_port_notify(const struct port *port, bool on)
{
  int fd = pg_port_descriptor(port);
  if (fd >= 0 && on)
    rte_eth_dev_rx_intr_enable(port->id, port->queue);
  else if (fd >= 0)
    rte_eth_dev_rx_intr_disable(port->id, port->queue);
  return fd >= 0;
}
