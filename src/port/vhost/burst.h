/* SPDX-License-Identifier: Apache-2.0
 *
 * Bursts from virtual machines (net_vhost), as librte_vhost can be trusted with them.
 */
#pragma once

#include <stdint.h>

struct rte_mbuf;

/* As rte_eth_rx_burst (leak.c). */
uint16_t pg_vhost_receive(uint16_t id, uint16_t queue, struct rte_mbuf **packets,
                          uint16_t n);

/* Before and after bursts, by the thread that asks for them (checksum.c). */
void pg_vhost_checksums_begin(void);
void pg_vhost_checksums_end(void);
