/* SPDX-License-Identifier: Apache-2.0
 *
 * Which thread calls: that in which librte_vhost hears what guests' QEMUs say? And what
 * is behind a guest's memory, which munmap() (unmap.c) takes away with it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>

static inline bool pg_in_vhost_thread(void)
{
  char name[16]; /* prctl(2), PR_GET_NAME */
  return prctl(PR_GET_NAME, name) == 0 &&
         (strncmp(name, "vhost-events", 12) == 0 ||  /* DPDK 22.11 */
          strncmp(name, "dpdk-vhost-evt", 14) == 0); /* since 23.11 */
}

/* Bytes that are mapped behind the guest's memory at the address, and forgotten now. */
size_t pg_vhost_apron_taken(const void *address);
