/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual machines with several pairs of queues. Which ones a guest uses it says while it
 * runs (`ethtool -L`): DPDK's events report it. A flow's packets go to one queue, so that
 * they stay in order, chosen by a hash among those in use. A worker has every so manyth
 * queue; if the guest uses none of these, it sends to the others' queues.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_eth_vhost.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_spinlock.h>

#include "../../native/api.h"
#include "../../native/host.h"
#include "../../native/log.h"
#include "burst.h"
#include "queues.h"

enum { MOST_PAIRS = 64 };

/* By DPDK's number of the port: a bit for each queue that the guest receives from. */
static _Atomic uint64_t used[RTE_MAX_ETHPORTS];
static _Atomic uint16_t most[RTE_MAX_ETHPORTS]; /* pairs that it began to use */
static _Atomic uint32_t changes[RTE_MAX_ETHPORTS]; /* of queues, or of the guest */
static rte_spinlock_t sending[RTE_MAX_ETHPORTS][MOST_PAIRS];

static int queues_changed(uint16_t id, enum rte_eth_event_type type, void *a, void *b)
{
  struct rte_eth_vhost_queue_event event;
  (void)type, (void)a, (void)b;
  while (rte_eth_vhost_get_queue_event(id, &event) == 0) {
    uint64_t bit = event.queue_id < MOST_PAIRS ? 1ull << event.queue_id : 0;
    if (event.enable && event.queue_id >= atomic_load(&most[id]))
      atomic_store(&most[id], event.queue_id + 1);
    if (!event.rx && event.enable)
      atomic_fetch_or(&used[id], bit);
    else if (!event.rx)
      atomic_fetch_and(&used[id], ~bit);
  }
  atomic_fetch_add(&changes[id], 1);
  return 0;
}

/* One that has gone uses none, of which there is no event. */
static int link_changed(uint16_t id, enum rte_eth_event_type type, void *a, void *b)
{
  struct rte_eth_link link;
  (void)type, (void)a, (void)b;
  if (rte_eth_link_get_nowait(id, &link) == 0 && !link.link_status)
    atomic_store(&used[id], 0);
  atomic_fetch_add(&changes[id], 1);
  return 0;
}

uint32_t pg_guest_changes(const struct port *port)
{
  return atomic_load(&changes[port->id]);
}

uint16_t pg_guest_pairs_beyond(const struct port *port)
{
  uint16_t n = port->queue == 0 ? atomic_exchange(&most[port->id], 0) : 0;
  return n > port->pairs ? n : 0;
}

void pg_guest_watch(void)
{
  static atomic_bool watching;
  if (atomic_exchange(&watching, true))
    return;
  rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_QUEUE_STATE, queues_changed,
                                NULL);
  rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_LSC, link_changed, NULL);
}

static uint16_t step_of(const struct port *port)
{
  return RTE_MAX(port->queues, 1);
}

/* The port's queues, as bits. */
static uint64_t own(const struct port *port)
{
  uint64_t bits = 0;
  for (uint16_t q = port->queue; q < RTE_MIN(port->pairs, MOST_PAIRS); q += step_of(port))
    bits |= 1ull << q;
  return bits;
}

uint16_t pg_guest_receive_all(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  uint16_t queues = (port->pairs - port->queue + step_of(port) - 1) / step_of(port);
  uint16_t got = 0;
  for (uint16_t i = 0; i < queues && got < n; i++) {
    uint16_t nth = (port->turn + i) % queues;
    got += pg_vhost_receive(port->id, port->queue + nth * step_of(port), packets + got,
                            n - got);
  }
  port->turn = (port->turn + 1) % queues;
  return got;
}

/* Other workers may send to it, too. */
static uint16_t send_to(uint16_t id, uint16_t queue, struct rte_mbuf **packets, uint16_t n)
{
  rte_spinlock_lock(&sending[id][queue]);
  n = rte_eth_tx_burst(id, queue, packets, n);
  rte_spinlock_unlock(&sending[id][queue]);
  return n;
}

/* Packets that weren't taken are at the end of the array then. */
uint16_t pg_guest_send_all(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  struct rte_mbuf *all[PORT_BURST], *some[PORT_BURST], *left[PORT_BURST];
  uint16_t queues[MOST_PAIRS], count = 0, n_left = 0;
  uint8_t to[PORT_BURST];
  uint64_t all_bits = ~0ull >> (MOST_PAIRS - port->pairs);
  uint64_t known = all_bits & atomic_load(&used[port->id]);
  uint64_t mine = known & own(port);
  for (uint64_t bits = mine ? mine : known; bits; bits &= bits - 1)
    queues[count++] = __builtin_ctzll(bits);
  n = RTE_MIN(n, (uint16_t)PORT_BURST);
  if (count <= 1)
    return count ? send_to(port->id, queues[0], packets, n) : 0;
  for (uint16_t i = 0; i < n; i++)
    to[i] = pg_flow_hash((struct packet *)packets[i]) % count;
  memcpy(all, packets, n * sizeof *all);
  for (uint16_t k = 0; k < count; k++) {
    uint16_t m = 0;
    for (uint16_t i = 0; i < n; i++)
      if (to[i] == k)
        some[m++] = all[i];
    for (uint16_t i = m ? send_to(port->id, queues[k], some, m) : 0; i < m; i++)
      left[n_left++] = some[i];
  }
  memcpy(packets + n - n_left, left, n_left * sizeof *left);
  return n - n_left;
}
