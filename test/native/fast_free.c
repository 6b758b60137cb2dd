/* SPDX-License-Identifier: Apache-2.0
 *
 * For test_fast_free.py, loaded before DPDK's libraries (LD_PRELOAD): DPDK's null device
 * as a card that frees fast. What it is sent it puts back into the first packet's pool
 * without a look at the others, after it has looked whether it may. At its end it says
 * what it did.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

static bool on[RTE_MAX_ETHPORTS];
static uint64_t put_back, wrong;

/* The function of that name which this one stands before. */
static void *behind(const char *name)
{
  void *f = dlsym(RTLD_NEXT, name);
  if (!f) {
    fprintf(stderr, "no function %s in DPDK\n", name);
    abort();
  }
  return f;
}

static bool may_free(const struct rte_mbuf *m, const struct rte_mempool *pool)
{
  return m->pool == pool && rte_mbuf_refcnt_read(m) == 1 && !m->next && m->nb_segs == 1 &&
         RTE_MBUF_DIRECT(m);
}

static uint16_t send_fast(void *queue, struct rte_mbuf **packets, uint16_t n)
{
  (void)queue;
  for (uint16_t i = 0; i < n; i++)
    wrong += !may_free(packets[i], packets[0]->pool);
  if (n > 0)
    rte_mempool_put_bulk(packets[0]->pool, (void **)packets, n);
  put_back += n;
  return n;
}

int rte_eth_dev_info_get(uint16_t id, struct rte_eth_dev_info *info)
{
  int (*get)(uint16_t, struct rte_eth_dev_info *) = behind("rte_eth_dev_info_get");
  int status = get(id, info);
  if (status == 0 && strcmp(info->driver_name, "net_null") == 0)
    info->tx_offload_capa |= RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  return status;
}

int rte_eth_dev_configure(uint16_t id, uint16_t rx, uint16_t tx,
                          const struct rte_eth_conf *conf)
{
  int (*configure)(uint16_t, uint16_t, uint16_t, const struct rte_eth_conf *) =
    behind("rte_eth_dev_configure");
  on[id] = conf->txmode.offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  /* Ubuntu's DPDK calls its own rte_eth_dev_info_get(), and then refuses this. */
  struct rte_eth_conf without = *conf;
  without.txmode.offloads &= ~RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  return configure(id, rx, tx, &without);
}

int rte_eth_dev_start(uint16_t id)
{
  int (*start)(uint16_t) = behind("rte_eth_dev_start");
  int status = start(id);
  if (status == 0 && on[id])
    rte_eth_fp_ops[id].tx_pkt_burst = send_fast;
  return status;
}

__attribute__((destructor)) static void tell(void)
{
  fprintf(stderr, "freed fast: %" PRIu64 ", that it might not: %" PRIu64 "\n", put_back,
          wrong);
}
