/* SPDX-License-Identifier: Apache-2.0
 *
 * librte_vhost before 22.11.5 and 23.11.1 loses the packets that it has taken from the pool
 * for a burst in which a guest's chain of descriptors is broken (virtio_dev_tx_split; seen
 * in 23.11.0, which Ubuntu 24.04 begins with): 32 of them for each look at the ring, until
 * nobody has packets. Their addresses are left in the array behind those received, and are
 * given back here. It isn't so where it has freed them, by the rte_pktmbuf_free_bulk()
 * below, or where the pool refused them, and the array has whatever was tried.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_version.h>

#include "../../native/api.h"
#include "../../native/host.h"
#include "burst.h"

enum { TAKEN = 32 }; /* at once: VHOST_MAX_PKT_BURST */

static _Thread_local bool freed;

static bool loses_packets(void)
{
  unsigned year = 0, month = 0, minor = 0;
  sscanf(rte_version(), "%*[^0-9]%u.%u.%u", &year, &month, &minor);
  if (month == 11 && (year == 22 || year == 23))
    return minor < (year == 22 ? 5 : 1);
  return year < 24;
}

void rte_pktmbuf_free_bulk(struct rte_mbuf **packets, unsigned n)
{
  static void (*real)(struct rte_mbuf **, unsigned);
  if (!real)
    real = dlsym(RTLD_NEXT, "rte_pktmbuf_free_bulk");
  freed = true;
  real(packets, n);
}

static uint16_t receive_all(uint16_t id, uint16_t queue, struct rte_mbuf **packets,
                            uint16_t n)
{
  memset(packets, 0, n * sizeof *packets);
  freed = false;
  pg_pool_refused();
  uint16_t got = rte_eth_rx_burst(id, queue, packets, n), lost = 0;
  if (freed || pg_pool_refused())
    return got;
  while (got + lost < n && lost < TAKEN && packets[got + lost])
    lost++;
  rte_pktmbuf_free_bulk(packets + got, lost);
  return got;
}

uint16_t pg_vhost_receive(uint16_t id, uint16_t queue, struct rte_mbuf **packets,
                          uint16_t n)
{
  static enum { UNKNOWN, NO, YES } loses;
  if (unlikely(loses == UNKNOWN))
    loses = loses_packets() ? YES : NO;
  return likely(loses == NO) ? rte_eth_rx_burst(id, queue, packets, n)
                             : receive_all(id, queue, packets, n);
}
