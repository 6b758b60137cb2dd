/* SPDX-License-Identifier: Apache-2.0
 *
 * An rte_malloc_socket() and an rte_realloc_socket() of the host binary's own, by which
 * librte_vhost has memory for the buffers that it used and hasn't given back yet: as many
 * as the guest's ring has. It takes as many as the guest says there are, and writes past
 * the end if that is a lie (update_shadow_used_ring_split, seen in DPDK 22.11.11). It
 * counts them in 16 bits, and a burst of 32 packets takes less than 32 rings full: here
 * is room for that. What is behind the ring itself: memory.c.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "thread.h"

enum { BURST = 32, ENTRY = 8, MOST_ENTRIES = UINT16_MAX + 1, COPIES = 4 };

static size_t with_room(size_t size)
{
  return RTE_MAX(size, RTE_MIN(size * BURST, (size_t)MOST_ENTRIES * ENTRY));
}

void *rte_malloc_socket(const char *type, size_t size, unsigned align, int node)
{
  static void *(*real)(const char *, size_t, unsigned, int);
  static _Thread_local size_t entries;
  if (!real)
    real = dlsym(RTLD_NEXT, "rte_malloc_socket");
  if (type || size > MOST_ENTRIES * ENTRY * (size_t)COPIES || !pg_in_vhost_thread())
    return real(type, size, align, node);
  /* Behind those of a queue come its copies to be made, whose number it checks. */
  bool copies = entries && size == COPIES * entries;
  void *memory = real(type, copies ? size : with_room(size), align, node);
  entries = memory && !copies ? size : 0;
  return memory;
}

void *rte_realloc_socket(void *before, size_t size, unsigned align, int node)
{
  static void *(*real)(void *, size_t, unsigned, int);
  if (!real)
    real = dlsym(RTLD_NEXT, "rte_realloc_socket");
  return real(before, pg_in_vhost_thread() ? with_room(size) : size, align, node);
}
