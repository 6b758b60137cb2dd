/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for core.memory: from DPDK's heap, never given back.
 */
#include <stdbool.h>
#include <stdint.h>

#include <rte_malloc.h>
#include <rte_memory.h>

#include "../api.h"
#include "internal.h"

/* `bytes` of zeroed memory aligned to `align` (a power of two), and its
 * physical address (rte_zmalloc); NULL and pg_error() if there is none. */
void *pg_dma_alloc(uint64_t bytes, uint64_t align, uint64_t *physical)
{
  void *memory = rte_zmalloc("dma", bytes, align);
  if (!memory)
    pg_fail("DPDK has no %lu bytes of memory left", (unsigned long)bytes);
  else
    *physical = rte_malloc_virt2iova(memory);
  return memory;
}

/* The physical (or IO virtual) address of memory from pg_dma_alloc. */
uint64_t pg_physical(const void *address)
{
  return rte_mem_virt2iova(address);
}
