/* SPDX-License-Identifier: Apache-2.0
 *
 * What C outside of src/native (drivers of ports, families, mechanisms of the network)
 * may call of the host: errors, interfaces, pools, devices, bursts. What Lua calls too
 * is in api.h; what a driver of a port is, in driver.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct port;
struct port_stats;
struct rte_eth_dev_info;
struct rte_mbuf;
struct sockaddr_un;

/* Set the sentence; returns -1, so that `return fail(...)` reads well. */
int pg_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Let what this thread does to the kernel interface `name` bring it up, and leave it as
 * it is otherwise; until it is called with "" (ioctl.c). */
void pg_iface_keep(const char *name);

/* Let TAPs that DPDK opens be that of the descriptor, if it is theirs (ioctl.c): false if
 * it is none that can be. It is the callee's then, until pg_tap_forget(). */
bool pg_tap_give(int fd);

/* Make the kernel interface promiscuous for as long as the descriptor is open, which is
 * at most as long as this process; -1 if that can't be (iface.c). */
int pg_iface_hold_promiscuous(const char *name);

/* Wait until each engine has looked at the clock, or for half a second: one that
 * doesn't look for so long isn't in a burst. */
void pg_clock_await_all(void);

/* Give back to the pool what it keeps at hand for the present thread. */
void pg_pool_leave(void);

/* Free what AES-GCM keeps for the present thread (aes_gcm.c). */
void pg_gcm_leave(void);

/* From now on this thread may take so many packets from the pools, cached ones not
 * counted; -1: any number (packet_ops.c). */
void pg_pool_allow(int32_t packets);

/* Has a pool refused this thread packets, as it was last asked? Asked again, no. */
bool pg_pool_refused(void);

/* Sleep until this descriptor is ready, or for so long: is it (wait.c)? */
bool pg_wait_for(int fd, double seconds);

/* A connection to who serves the local socket, SOCK_STREAM or SOCK_SEQPACKET, which doesn't
 * block; -1 and errno (sys.c). */
int pg_connect_local(const struct sockaddr_un *address, int type);

/* From now on drop what is to be sent, as tx_unplugged (port_gone.c). */
void pg_port_set_gone(struct port *port);

/* Add these statistics to a sum (port_query.c). */
void pg_port_add_stats(struct port_stats *sum, const struct port_stats *s);

/* The MTU, or the most that the device can be configured for (port_start.c). */
uint32_t pg_possible_mtu(uint32_t mtu, const struct rte_eth_dev_info *info);

/* Start a port of DPDK's (port_start.c). 0, or -errno. */
int pg_device_start(uint16_t id, bool promiscuous);

/* The sums over a burst that the accounts need (burst.c). */
struct sums {
  uint64_t packets, bytes, bits, dropped_bytes;
};

struct sums pg_sum(struct rte_mbuf **packets, uint16_t n);

/* Free and count what the port can't send; how many packets are left (burst.c). */
uint16_t pg_drop_unsendable(struct port *port, struct rte_mbuf **packets, uint16_t n);

/* Has the process packets that several drivers may have at once (packet_set.c), or of
 * pools that scripts make (moongen/native/memory.c)? */
extern _Atomic bool pg_other_packets;

/* Is the process checking (--check)? It is from now on if `begin` (check.c). */
bool pg_checking(bool begin);

/* Do what packets ask their device for, as those of a device that can't; or what this
 * port's device can't (offload.c). */
void pg_offload_here(struct rte_mbuf **packets, uint32_t n);
void pg_offload_burst(struct port *port, struct rte_mbuf **packets, uint16_t n);

/* The packet_type of one whose addresses that moved, to put a VLAN tag behind them; and put
 * them back, in a buffer that comes from its pool again. */
enum { PG_TAGGED = 0x0a600000 };
void pg_offload_untag(struct rte_mbuf *m);

/* Make received packets fit for apps; how many stay, and their bytes, unless `bytes`
 * is NULL (burst.c). */
uint16_t pg_tidy(struct port *port, struct rte_mbuf **packets, uint16_t n,
                 int64_t *bytes);
