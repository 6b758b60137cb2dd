/* SPDX-License-Identifier: Apache-2.0
 *
 * What the C of src/native shares; what others may use of it is in ../host.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../host.h"

/* Don't die of SIGPIPE, unless it comes of standard output, nor of SIGXFSZ (sys.c). */
void pg_survive_writes(void);

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

/* Where LuaJIT ends the process, a sentence says why (panic.c). */
void pg_name_panics(struct lua_State *L);

/* Let its core.watch.deep_stack find what makes handlers (handler.c). */
void pg_handler_register(struct lua_State *L);

/* Children get only the descriptors that this process has now (workarounds/children.c). */
void pg_note_descriptors(void);

/* Know what `make` has compiled of the tree `root` for this version of LuaJIT, before
 * there are threads; and let this Lua state take modules from there (bytecode.c). */
void pg_find_bytecode(const char *root, const char *version);
void pg_use_bytecode(struct lua_State *L);

/* Let files of this Lua state say so when they can't be written (lua_files.c). */
void pg_open_files(struct lua_State *L);

/* This thread, which isn't watched, ends: forget what its engine is at (backtrace.c). */
void pg_watch_leave(void);

/* The name of the packet pool's mempool driver (packet_ops.c). */
#define PG_PACKET_OPS "perigee"

/* TSC cycles that this thread has slept in pg_sleep (sys.c). */
extern _Thread_local uint64_t pg_slept_cycles;

struct rte_mempool;

/* Is that one of the packet pools (pool.c)? */
bool pg_pool_add(struct rte_mempool *pool, unsigned n);
bool pg_pool_is_ours(const void *pool);

struct port;

/* Hear if the card of a port that starts is unplugged, until it is closed (port_gone.c). */
void pg_port_watch(const struct port *port);
void pg_port_unwatch(const struct port *port);

/* Tell of NULL used as a packet (null.c). */
void pg_catch_null(void);

/* What --check wants of packets (check.c). */
uint32_t pg_guard_bytes(void);
void pg_guard(void *packet);

/* A pool of frames of a page each, for AF_XDP, whose kernel side takes no buffer
 * larger than a page. */
struct rte_mempool *pg_small_pool(const char *name, int32_t node);

/* Free the pair of rings called `name` with the packets in them (port.c). */
void pg_ring_free(const char *name);

/* NUMA nodes (numa.c); -1 where they aren't known or needn't be. */
int32_t pg_numa_of_port(uint16_t id);
int32_t pg_numa_here(void);
int32_t pg_numa_by_index(int32_t i);

struct rte_mbuf;

/* Most packets looked at, and then sent, at once. */
enum { TX_CHUNK = PORT_BURST };

/* Make a burst ready to send; how many packets are left of it (burst.c). */
uint16_t pg_prepare(struct port *port, struct rte_mbuf **packets, uint16_t n,
                    struct sums *sums);

/* What a packet may ask its device for (RTE_MBUF_F_TX_*, offload.c). */
#define PG_OFFLOADS \
  (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_VLAN)

/* That, and what devices may need beside it, to know what they look at. */
#define PG_REQUESTS (PG_OFFLOADS | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6)

/* Whether any packet ever did: bursts needn't be looked through before. */
extern _Atomic bool pg_offloads_asked;
