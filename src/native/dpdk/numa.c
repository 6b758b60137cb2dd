/* SPDX-License-Identifier: Apache-2.0
 *
 * NUMA nodes: how many there are to ask for memory, and which one a CPU or a port
 * belongs to. On a machine of one node, and without hugepages (memory is then where
 * it is first touched), no node is asked for at all.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_memory.h>

#include "../api.h"
#include "internal.h"

/* What tests make of a machine of one node: so many nodes, CPUs dealt out to them in
 * turn; a bit for each that has memory; and the node of all ports. */
static struct {
  int32_t nodes;
  uint32_t memory;
  int32_t ports;
} pretended;

/* For tests, before DPDK starts. */
void pg_numa_pretend(int32_t nodes, uint32_t memory, int32_t ports)
{
  pretended.nodes = nodes;
  pretended.memory = memory;
  pretended.ports = ports;
}

/* Nodes that memory can be asked of; 1: it isn't asked of any. */
int32_t pg_numa_nodes(void)
{
  if (pretended.nodes)
    return pretended.nodes;
  return rte_eal_has_hugepages() ? (int32_t)rte_socket_count() : 1;
}

static int32_t known(int32_t node)
{
  return node >= 0 && node < RTE_MAX_NUMA_NODES && pg_numa_nodes() > 1 ? node : -1;
}

/* The nodes by number; -1 if there is only one. */
int32_t pg_numa_by_index(int32_t i)
{
  return known(pretended.nodes ? i : rte_socket_id_by_idx(i));
}

/* The node of a CPU, as sysfs has it; -1: it isn't known, or there is only one. */
int32_t pg_numa_of_cpu(int32_t cpu)
{
  char path[64];
  if (pretended.nodes)
    return known(cpu % pretended.nodes);
  for (int i = 0; pg_numa_nodes() > 1 && i < pg_numa_nodes(); i++) {
    int32_t node = pg_numa_by_index(i);
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/node%d", cpu, node);
    if (access(path, F_OK) == 0)
      return known(node);
  }
  return -1;
}

/* That of a DPDK port (rte_eth_dev_socket_id), and of this thread. */
int32_t pg_numa_of_port(uint16_t id)
{
  return known(pretended.nodes ? pretended.ports : rte_eth_dev_socket_id(id));
}

int32_t pg_numa_here(void)
{
  return known(pretended.nodes ? -1 : (int32_t)rte_socket_id());
}

/* What DPDK is to be asked for to get memory of the node. */
int32_t pg_numa_memory(int32_t node)
{
  bool anywhere = node < 0 || (pretended.nodes && pretended.memory >> node & 1);
  return anywhere ? SOCKET_ID_ANY : node;
}
