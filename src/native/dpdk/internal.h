/* SPDX-License-Identifier: Apache-2.0
 *
 * The sentence pg_error() gives to Lua after a call of the shim has failed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Set the sentence; returns -1, so that `return fail(...)` reads well. */
int pg_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Don't die of SIGPIPE, unless it comes of standard output (sys.c). */
void pg_survive_broken_sockets(void);

/* Let what this thread does to the kernel interface `name` bring it up, and leave it as
 * it is otherwise; until it is called with "" (ioctl.c). */
void pg_iface_keep(const char *name);

/* Make the kernel interface promiscuous for as long as the descriptor is open, which is
 * at most as long as this process; -1 if that can't be (iface.c). */
int pg_iface_hold_promiscuous(const char *name);

/* A thread with an engine begins and ends; its looks at the clock, never made
 * within a burst, are counted in between (clock.c). */
struct worker;

void pg_clock_enter(struct worker *worker);
void pg_clock_leave(void);

/* This thread begins or ends to sleep: it needn't look at its clock meanwhile. */
void pg_clock_sleeps(bool begins);

/* The Lua state of this thread, or NULL: for who interrupts it (watchdog.c). */
struct lua_State;
void pg_watch_state(struct lua_State *L);

/* Let its core.watch.deep_stack find what makes handlers (handler.c). */
void pg_handler_register(struct lua_State *L);

/* Children get only the descriptors that this process has now (workarounds/children.c). */
void pg_note_descriptors(void);

/* Let files of this Lua state say so when they can't be written (lua_files.c). */
void pg_open_files(struct lua_State *L);

/* This thread, which isn't watched, ends: forget what its engine is at (where.c). */
void pg_watch_leave(void);

/* Wait until each engine has looked at the clock, or for half a second: one that
 * doesn't look for so long isn't in a burst. */
void pg_clock_await_all(void);

/* The name of the packet pool's mempool driver (packet_ops.c). */
#define PG_PACKET_OPS "perigee"

/* Give back to the pool what it keeps at hand for the present thread. */
void pg_pool_leave(void);

/* Free what AES-GCM keeps for the present thread (aes_gcm.c). */
void pg_gcm_leave(void);

/* TSC cycles that this thread has slept in pg_sleep (sys.c). */
extern _Thread_local uint64_t pg_slept_cycles;

struct rte_mempool;

/* From now on this thread may take so many packets from the pools, cached ones not
 * counted; -1: any number (packet_ops.c). */
void pg_pool_allow(int32_t packets);

/* Has a pool refused this thread packets, as it was last asked? Asked again, no. */
bool pg_pool_refused(void);

/* Hear which queues virtual machines use (ports/guest_queues.c). */
void pg_guest_watch(void);

/* Is that one of the packet pools (pool.c)? */
bool pg_pool_is_ours(const void *pool);

struct port;

/* Hear if the card of a port that starts is unplugged, until it is closed (port_gone.c). */
void pg_port_watch(const struct port *port);
void pg_port_unwatch(const struct port *port);

/* From now on drop what is to be sent, as tx_unplugged (port_gone.c). */
void pg_port_set_gone(struct port *port);

struct port_stats;

/* Add these statistics to a sum (port_told.c). */
void pg_port_add_stats(struct port_stats *sum, const struct port_stats *s);

struct rte_eth_dev_info;

/* The MTU, or the most that the device can be configured for (port_start.c). */
uint32_t pg_possible_mtu(uint32_t mtu, const struct rte_eth_dev_info *info);

/* Start a port of DPDK's (port_start.c). 0, or -errno. */
int pg_device_start(uint16_t id, bool promiscuous);

/* Tell of NULL used as a packet (null.c). */
void pg_catch_null(void);

/* What --check wants of packets (check.c). */
bool pg_checking(bool begin);
uint32_t pg_guard_bytes(void);
void pg_guard(void *packet);

/* A pool of frames up to 2 KB for AF_XDP, whose kernel side takes no buffer
 * larger than a page. */
struct rte_mempool *pg_small_pool(const char *name, int32_t node);

/* Free the pair of rings called `name` with the packets in them (port.c). */
void pg_ring_free(const char *name);

/* NUMA nodes (numa.c); -1 where they aren't known or needn't be. */
int32_t pg_numa_of_port(uint16_t id);
int32_t pg_numa_here(void);
int32_t pg_numa_by_index(int32_t i);

struct rte_mbuf;

/* The sums over a burst that the accounts need (burst.c). */
struct sums {
  uint64_t packets, bytes, bits, dropped_bytes;
};

/* Most packets looked at, and then sent, at once. */
enum { TX_CHUNK = PORT_BURST };

struct sums pg_sum(struct rte_mbuf **packets, uint16_t n);

/* Free and count what the port can't send; how many packets are left (burst.c). */
uint16_t pg_drop_unsendable(struct port *port, struct rte_mbuf **packets, uint16_t n);

/* Make a burst ready to send; how many packets are left of it (burst.c). */
uint16_t pg_prepare(struct port *port, struct rte_mbuf **packets, uint16_t n,
                    struct sums *sums);

/* Has the process packets that several drivers may have at once (packet_set.c), or of
 * pools that scripts make (moongen/native/memory.c)? */
extern _Atomic bool pg_other_packets;

/* What a packet may ask its device for (RTE_MBUF_F_TX_*, offload.c). */
#define PG_OFFLOADS \
  (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_VLAN)

/* That, and what devices may need beside it, to know what they look at. */
#define PG_REQUESTS (PG_OFFLOADS | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6)

/* Whether any packet ever did: bursts needn't be looked through before. */
extern _Atomic bool pg_offloads_asked;

/* See to that, for a burst that is about to be sent (offload.c). */
void pg_offload_burst(struct port *port, struct rte_mbuf **packets, uint16_t n);
void pg_offload_here(struct rte_mbuf **packets, uint32_t n);

/* Make received packets fit for apps; how many stay, and their bytes, unless `bytes`
 * is NULL (burst.c). */
uint16_t pg_tidy(struct port *port, struct rte_mbuf **packets, uint16_t n,
                 int64_t *bytes);
