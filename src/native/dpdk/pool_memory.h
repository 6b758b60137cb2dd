/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for packets of the pools (pool_memory.c).
 */
#pragma once

#include <stdint.h>

#include <rte_mempool.h>

enum { POOL_LEAST_STEP = 512 }; /* packets */

/* Bytes of a packet in a pool, without the mempool's own. */
uint32_t pg_pool_element_size(void);

/* Give the pool memory for `n` more packets, on that NUMA node: how many; or -1, and
 * pg_error() says why. One thread at a time. */
int pg_pool_populate(struct rte_mempool *pool, int32_t node, uint32_t n);

/* The same, or for half of that and so on where memory is short; some is left for ports. */
int pg_pool_fill(struct rte_mempool *pool, int32_t node, uint32_t n);
