/* SPDX-License-Identifier: Apache-2.0
 *
 * What the C shim and Lua share of packets, links and the engine. core.native
 * hands this very file, files.h, kernels.h and ports.h to LuaJIT's ffi.cdef, so they
 * hold plain declarations only: no macros, no inline functions. layout.c
 * asserts that struct packet is on rte_mbuf.
 */
#pragma once

#include "files.h"
#include "kernels.h"
#include "ports.h"

enum {
  PACKET_MAX_PAYLOAD = 10240, /* bytes of a packet, as in Snabb */
  PACKET_HEADROOM = 256,      /* bytes before a packet from allocate() */
  PACKET_MAX_HEADROOM = 512,  /* a packet never starts further in than this */
  PACKET_NOTES = 64,          /* bytes that go with it, for apps */
  LINK_RING_SIZE = 1024,      /* slots; one stays empty */
  LINK_MAX_PACKETS = 1023,
  FREELIST_SIZE = 1024,
  PORT_BURST = 256            /* most packets in one DPDK call */
};

/* A packet is a DPDK mbuf of one segment, under the names Snabb uses. */
struct packet {
  uint8_t *buf_addr;
  uint64_t buf_iova;
  uint16_t data_off;
  uint16_t refcnt;
  uint16_t nb_segs;
  uint16_t port;
  union {
    uint64_t ol_flags;
    double no_flags;         /* 0 is no flag. LuaJIT holds that storing a double */
  };                         /* leaves the free list's counters alone */
  uint32_t packet_type;
  uint32_t pkt_len;
  union {
    uint16_t length;
    uint16_t data_len;       /* DPDK's name, and libmoon's */
  };
  uint16_t vlan_tci;
  uint32_t hash[2];
  uint16_t vlan_tci_outer;
  uint16_t buf_len;
  void *pool;
  struct packet *next;
  uint64_t tx_offload;
  void *shinfo;
  uint16_t priv_size;
  uint16_t timesync;
  uint32_t dynfield[9];
  union {                    /* what apps note about it for others: nothing clears it */
    uint8_t note8[64];
    uint16_t note16[32];
    uint32_t note32[16];
    uint64_t note64[8];
    struct {                 /* what libmoon's programs note there */
      union { uint64_t udata64; void *userdata; };
      uint64_t timestamp;
      uint32_t seqn;
    };
  };
};

/* A counter's own copy; core.counter publishes it over shm. */
struct counter { uint64_t c; };

/* A ring between two apps. The cursors count packets up; a slot is a cursor
 * masked. `read` counts all that were ever received, `write` the same modulo
 * 2^32. They differ in type on purpose: LuaJIT takes fields of different size
 * as distinct memory, and so keeps both, and rxbytes, in registers while a
 * loop passes packets from one link to another (core/link.lua). `limit` is a
 * value of `write` up to which there is room for certain; whoever reaches it
 * works it out anew from `read`. */
struct link {
  int64_t read;
  int32_t write;
  int32_t limit;
  int64_t rxbytes;
  uint64_t txdrop;
  int64_t txdropbytes;
  struct packet **handed;    /* `nhanded` packets past the ring (handover.c) */
  int32_t nhanded;
  int32_t handed_bytes;      /* of these together, -1: unknown */
  int32_t direct;            /* may packets pass the ring? */
  struct {
    struct counter *dtime, *txbytes, *rxbytes, *txpackets, *rxpackets, *txdrop;
  } counters;                /* as of the last link.sync; see core/link.lua */
  struct packet *packets[1024];
};

/* Packets an engine keeps at hand, refilled from and spilled to the pool in
 * bulk; and its account of every packet, which core/engine/account.lua sums.
 * `bits` are bits on the wire: with preamble, gap, padding and CRC. */
struct freelist {
  int32_t nfree;
  int32_t max;
  uint64_t frees, freebytes, freebits;       /* freed by apps */
  uint64_t sent, sentbytes, sentbits;        /* handed to ports */
  uint64_t received, port_drops;             /* by ports */
  uint64_t refilled, spilled;
  uint64_t handed, taken;                    /* to and from other workers */
  struct packet *list[1024];
  struct cycles *sample;     /* of the present breath, if one is taken */
  void *pool;                /* it is refilled from; NULL: none yet */
  int32_t node;              /* NUMA node of its CPU, or -1 */
  int32_t aside;             /* freed, and kept apart for a while (core/check) */
};

/* Where a breath's TSC cycles go, from samples (cycles.c, core/watch/cycles.lua). */
struct cycles {
  uint64_t reading;          /* what one reading of the TSC takes */
  uint64_t samples;          /* added to these sums: */
  uint64_t receives, empties, sends; /* in ports: with packets, without; sending */
  uint64_t owns;             /* the engine's */
  double average, usual;     /* of a breath, lately; of the engine's in it */
  uint64_t *spent, *sums;    /* by call: of this breath, and in all */
  uint64_t began, last, receive, empty, send, inside, slept_before, dice;
  int64_t switches;
};

/* eal.c */
int pg_eal_start(int argc, char **argv);
bool pg_eal_started(void);
void pg_eal_stop(void);
bool pg_eal_hugepages(void);
bool pg_hugepages_can_be_had(uint64_t bytes);
int64_t pg_peer_user(int fd);
bool pg_addresses_can_be_had(uint64_t bytes);
bool pg_thread_can_be_had(void);
const char *pg_error(void);
const char *pg_dpdk_version(void);

/* pool.c */
void *pg_pool_of(int32_t node, uint32_t initial, uint32_t max);
void *pg_pool_any(uint32_t initial, uint32_t max);
int pg_pool_grow(void *pool, uint32_t before);
int32_t pg_pool_node(const void *pool);
uint32_t pg_pool_size(void);
uint32_t pg_pool_available(void);
uint32_t pg_pool_room(const void *pool);
uint32_t pg_pool_left(const void *pool);
int pg_freelist_refill(struct freelist *fl, int32_t n);
void pg_freelist_spill(struct freelist *fl, int32_t n);

/* Packets kept to be sent again and again (packet_set.c), `n` of them. */
enum { PACKET_SET_CLASSES = 9 };
struct packet_set {
  struct packet **packets;   /* the set, over and over: `slots`, and some more */
  int32_t n, room, slots;
  uint32_t shortest, longest; /* bytes of a packet */
  void *pools[PACKET_SET_CLASSES]; /* or NULL */
};

/* How far a set has been sent by one link. What it counts: double, so that Lua can read
 * it without garbage. */
struct replay {
  int32_t at;                /* the next slot */
  double packets, bytes;     /* done with */
  double bits;               /* on the wire, of those sent */
};

int pg_packet_set_class(uint32_t length);
double pg_packet_set_bytes(const uint32_t *counts);
double pg_memory_at_hand(void);
struct packet_set *pg_packet_set_new(const uint32_t *counts);
bool pg_packet_set_add(struct packet_set *set, const void *data, uint32_t length);
bool pg_packet_set_close(struct packet_set *set);
void pg_packet_set_free(struct packet_set *set);
int pg_packet_set_send(struct port *port, struct link *link, struct packet_set *set,
                       struct replay *r, int max);

/* check.c */
enum check_result {
  CHECK_GOOD, CHECK_NO_PACKET, CHECK_HEADER, CHECK_LENGTH, CHECK_OFFSET, CHECK_GUARD
};

enum check_result pg_check_packet(const struct packet *p, bool ours);
bool pg_packet_is_ours(const struct packet *p);
void pg_poison(struct packet *p);
int32_t pg_poison_spoilt(const struct packet *p);

/* packet_room.c */
int32_t pg_packet_room(const void *data);

/* numa.c */
int32_t pg_numa_nodes(void);
int32_t pg_numa_of_cpu(int32_t cpu);
int32_t pg_numa_memory(int32_t node);
void pg_numa_pretend(int32_t nodes, uint32_t memory, int32_t ports);

/* A worker (worker.c); `waiting` are its messages. */
struct worker {
  struct freelist account;
  int32_t waiting[2];        /* TO_WORKER, FROM_WORKER */
  int32_t ended;             /* its thread */
  int32_t cpu;
  int32_t given_up;          /* it doesn't return, so the others go on without it */
  int32_t tid;               /* of its thread; 0: that hasn't begun */
  uint64_t breaths;
};

enum { TO_WORKER = 0, FROM_WORKER = 1 };

struct worker *pg_worker_start(int32_t cpu, int32_t pinned_to, const char *module,
                               const char *path, const char *cpath);
void pg_worker_join(struct worker *w);
void pg_worker_free(struct worker *w);
bool pg_worker_ended(const struct worker *w);
bool pg_worker_post(struct worker *w, int to, const char *data, uint64_t size);
int64_t pg_worker_next(struct worker *w, int to);
void pg_worker_take(struct worker *w, int to, char *data);
void pg_worker_wait(struct worker *w, int to, double seconds);

/* passage.c */
struct passage;

struct passage *pg_passage_new(uint32_t size, int32_t node);
void pg_passage_free(struct passage *p);
void pg_passage_close(struct passage *p, bool closed);
uint32_t pg_passage_waiting(const struct passage *p);
uint64_t pg_passage_dropped(const struct passage *p);
int pg_passage_send(struct freelist *account, struct passage *p, struct link *link);
int pg_passage_receive(struct freelist *account, struct passage *p,
                       struct link *link, uint32_t most);
void pg_passage_notify(struct passage *p, bool on);
int pg_passage_drain(struct freelist *account, struct passage *p);

/* burst.c */
int pg_receive(struct port *port, struct link *link);
int pg_transmit(struct port *port, struct link *link);
uint64_t pg_link_queued_bytes(const struct link *link);

/* direct.c */
int pg_take(struct link *link, struct packet **to, int max);
int pg_take_counted(struct link *link, struct packet **to, int max);
void pg_give(struct freelist *account, struct link *link, struct packet **from,
             int n);
int pg_fetch(struct port *port, struct link *link, struct packet **to, int most);
int pg_fetch_counted(struct port *port, struct link *link, struct packet **to,
                     int most);
void pg_send(struct port *port, struct link *link, struct packet **from, int n);
void pg_forward(struct port *from, struct link *link, struct port *to, int bursts);

/* copies.c */
void pg_copy(struct freelist *account, struct packet **packets, int n);

/* handover.c */
void pg_hand(struct freelist *account, struct link *link, struct packet **from,
             int n, int bytes);
int pg_hand_routed(struct freelist *account, struct link *link, struct packet **from,
                   int n, const uint8_t *route, int output, struct packet **chosen);
int pg_send_routed(struct port *port, struct link *link, struct packet **from, int n,
                   const uint8_t *route, int output, struct packet **chosen);
int pg_accept(struct freelist *account, struct link *link, struct packet **to);
int pg_accept_counted(struct freelist *account, struct link *link,
                      struct packet **to);
void pg_queue_handed(struct freelist *account, struct link *link);

/* cycles.c */
uint64_t pg_cycles_reading(void);
void pg_cycles_begin(struct cycles *c, struct freelist *account, int32_t calls);
void pg_cycles_mark(struct cycles *c, int32_t i);
void pg_cycles_pause(struct cycles *c, struct freelist *account);
int32_t pg_cycles_end(struct cycles *c, int32_t calls, bool dismiss);
uint64_t pg_cycles_slept(void);
double pg_thread_cpu_seconds(void);
double pg_run_delay(void);
double pg_run_delay_of(int32_t tid);

/* memory.c */
void *pg_dma_alloc(uint64_t bytes, uint64_t align, uint64_t *physical);
uint64_t pg_physical(const void *address);

/* shm.c */
enum { SHM_OPEN, SHM_RESERVE, SHM_NAME }; /* what is done with such a file, in turn */
struct shm_file {
  int64_t size;
  uint32_t mode;
  int32_t group; /* whose it becomes, or -1 */
  int32_t step;
};
int pg_shm_file(struct shm_file *f, const char *path, const char *hidden);

/* sys.c */
uint64_t pg_tsc(void);
uint64_t pg_tsc_hz(void);
double pg_tsc_hz_measured(void);
double pg_monotonic(void);
uint64_t pg_monotonic_ns(void);
uint64_t pg_raw_ns(void);
double pg_now(void);
int64_t pg_real_ns(void);
double pg_cpu_seconds(void);
void pg_sleep(double seconds);
void pg_note_failure(void);
void pg_forget_failure(void);
int pg_closed_status(void); /* workarounds/children.c */
bool pg_has_failed(void);

/* wait.c */
enum { WOKEN_BY_PORT = 1, WOKEN_BY_VISITOR = 2, WOKEN_BY_BELL = 4 }; /* bits */
int pg_wait_clear(void);
int pg_wait_add(int fd, int woken, bool counts);
int pg_wait(double seconds);
double pg_wait_cost(void);

/* signals.c */
void pg_end_in_order(void);
void pg_catch_signals(void);
void pg_release_signals(void);
int pg_signal(void);
int pg_ended_by(void);
void pg_die_of_signal(void);
void pg_take_signal(int number, bool take);
int pg_taken_signal(void);

/* sandbox.c */

bool pg_sandboxed(void);
void pg_note_sandbox(void);
int pg_sandbox_files(int rules);

/* helper.c */
enum { PG_HELPER_FD = 3 };
int pg_helper_start(const char *const *argv, int fd);
bool pg_helper_begin(int parent);
bool pg_helper_ended(int pid);
void pg_helper_stop(int pid);

/* What an engine is at, for who asks from outside (backtrace.c). */
struct at_work {
  int32_t call;              /* number of the call that a breath makes; 0: none */
  int32_t interrupted;       /* by the watchdog, since it didn't return */
};

/* watchdog.c */
void pg_watchdog(double seconds);
bool pg_watch(bool on);
bool pg_stuck(void);
void pg_end_without_stuck(int status);

/* backtrace.c */
struct at_work *pg_at_work(void);
void pg_watch_calls(const char *calls);
void pg_watch_trace(int32_t number, double from, double size, const char *line,
                    const char *app);
void pg_watch_flush(void);
