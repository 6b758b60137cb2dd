/* SPDX-License-Identifier: Apache-2.0
 *
 * What libmoon's and MoonGen's scripts use of C, as LuaJIT sees it: plain declarations
 * (core.declare). Devices, queues and pools are the process's; each task's Lua state
 * has objects of its own that stand for them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../src/native/api.h"
#include "../../src/native/packet_ring.h"
#include "../../src/native/threads.h"
#include "../../src/net/classify/queues.h"
#include "../../src/net/rate/pacer.h"

enum {
  MG_MOST_DEVICES = 64,
  MG_MOST_QUEUES = 64,       /* of a device, each way */
  MG_BURST = PORT_BURST
};

/* What mg_send and its like say instead of a number of packets. */
enum mg_fault {
  MG_SENT_TWICE = -1,        /* a buffer that was sent or freed already */
  MG_NO_BUFFER = -2          /* a null pointer among the buffers */
};

/* A lock that tasks share: room for a pthread_mutex_t (moongen/locks.lua). */
struct lock { uint64_t mutex[8]; };

/* A time that is to pass. The clock stands while a task starts: its script is loaded,
 * which takes longer the less of a CPU there is. */
struct mg_clock {
  uint64_t end;              /* TSC; UINT64_MAX: none is set */
  uint64_t stands_since;     /* TSC */
};

/* What all tasks share. Written with its lock held. */
struct mg_shared {
  struct lock *lock;
  void *namespaces;          /* tasks/namespaces.lua */
  struct mg_device *devices[64]; /* by number (devices/native.lua) */
  struct mempool *pools;     /* memory/pools.lua; the newest */
  uint64_t array_places;     /* of all arrays of buffers */
  struct mg_clock runtime;   /* that the script has set (tasks/ends.lua) */
  struct mg_clock examination; /* perigee doctor's, */
  double examined_for;       /* seconds; 0: there is none */
  uint64_t stop_at, signal_at; /* TSC, or UINT64_MAX */
  int32_t starting;          /* tasks */
  int32_t exit_status;       /* that a task wants, or -1 */
  void *watched;             /* watch/counts.lua */
  void *sniffed;             /* measure/moonsniff.lua */
  char failure[512];         /* why the process is to end with an error, or "" */
};

/* lifecycle.c ---------------------------------------------------------------- */

struct mg_shared *mg_shared(void);
int32_t mg_running(double extra_ms);
void mg_crowded(int32_t crowded);
void mg_sleep(double seconds, int32_t precise);
int32_t mg_exit_wanted(void);

/* memory.c ------------------------------------------------------------------- */

/* A pool of buffers. `n` of them, of up to `size` bytes. */
struct mempool {
  void *pool;                /* DPDK's */
  uint32_t n, size;
  uint32_t number;           /* of pools made, from 1 on */
  struct mempool *before;    /* made before it (memory/pools.lua) */
};

void *mg_pool_make(uint32_t n, uint32_t size, int32_t socket, uint32_t number);
int32_t mg_alloc(struct mempool *p, struct packet **to, uint32_t n, uint32_t length);
struct packet *mg_alloc_now(struct mempool *p, uint32_t length);
int32_t mg_free(struct packet **bufs, uint32_t n);
int32_t mg_free_one(struct packet *p);
void mg_give_caches(void);
void mg_give_wanted_caches(void);

/* check.c, for --check -------------------------------------------------------- */
void mg_check_at(const char *text);
const char *mg_check_found(char *text, uint32_t size);
void mg_check_rest(void *pool);

/* Devices: ports with as many queues as a script wants, which all tasks share. Queues that
 * the port hasn't are of software (receive.c), and who sends takes a lock (send.c).
 * devices/native.lua makes them. */
struct mg_device;

/* A queue of a device. Counters are written by who has the queue. */
struct mg_queue {
  uint64_t packets, bytes;   /* sent, or given to the script; without CRC */
  uint64_t dropped;          /* instead of sent: in all, */
  uint64_t beyond;           /* length set to more than the buffer has */
  uint64_t too_long, too_short; /* for the port, */
  uint64_t refused;          /* not taken in time after the end */
  struct mg_device *device;
  struct port *port;         /* the device's queue behind it */
  int32_t *lock;             /* of that */
  struct pg_pacer *pacer;    /* of a tx queue (limits.c), or NULL, */
  struct pg_pacer *delays;   /* and of packets that are sent with delays, or NULL */
  struct pg_soft_queue soft; /* of an rx queue: what others received for it */
  uint64_t waiting;          /* that the script had not received when it ended */
  uint64_t before, after;    /* TSC around the last burst, if it stamps (soft.stamps);
                              * of the last packet received */
  int32_t qid;
  int32_t nstash;            /* received, and not yet given */
  int32_t user, user_before; /* threads that use it, in turn (lifecycle.c) */
  int32_t turns;             /* that two took, */
  int32_t in_turns;          /* 1: there were some; 2: and that was said */
  int32_t paced;             /* it has a pacer, or its device has */
  int32_t direct;            /* it has the device's queue for itself, and no rules */
  struct packet *stash[32];
};

struct mg_device {
  int32_t id;
  int32_t opened, configured;
  int32_t nrx, ntx;          /* queues that the script has */
  int32_t sources;           /* queues the device has to receive from, */
  int32_t sinks;             /* and to send to */
  int32_t wake_fd;           /* ready when there is something to receive; 0: none is */
  uint32_t speed;            /* Mbit/s, 0 unknown */
  uint8_t mac[6];
  char text[256];            /* the port string, */
  char tended[16];           /* and its kind, if somebody is to look after it, or "" */
  struct pg_pacer *pacer;    /* of all its queues to send to, or NULL */
  struct mg_device *peer;    /* other end of a ring, or NULL */
  uint64_t polled;           /* TSC of the last time a queue was asked for packets */
  uint64_t unheard;          /* packets sent to a peer that hasn't polled for a while, */
  uint64_t unheard_since;    /* TSC, if it never has */
  uint64_t missed, missed_bytes; /* sent to it when nobody received */
  uint64_t waiting;          /* in a ring from its peer when it was closed */
  struct port_stats began;   /* statistics of its port as it was configured */
  int32_t rx_locks[64], tx_locks[64];
  struct freelist account;
  struct port ports[64];
  struct mg_queue rx[64], tx[64];
  struct pg_soft_queues soft; /* of rx, those that the port hasn't */
};

/* send.c, receive.c ---------------------------------------------------------- */

int32_t mg_send(struct mg_queue *q, struct packet **bufs, uint32_t n);
int32_t mg_try_send(struct mg_queue *q, struct packet **bufs, uint32_t n);
int32_t mg_send_now(struct mg_queue *q, struct packet **bufs, uint32_t n);
int32_t mg_try_send_now(struct mg_queue *q, struct packet **bufs, uint32_t n);
int32_t mg_receive(struct mg_queue *q, struct packet **bufs, uint32_t n);
void mg_receive_sleeps(int32_t after_us);
int32_t mg_receive_wait(struct mg_queue *q, struct packet **bufs, uint32_t n,
                        double microseconds, int32_t idle);

/* limits.c ------------------------------------------------------------------- */

void mg_limits_of(const struct mg_queue *q, struct pg_pacer *first, struct pg_limits *l);
int32_t mg_send_through(struct mg_queue *q, struct pg_pacer *p, struct packet **packets,
                        uint32_t n);
int32_t mg_try_send_paced(struct mg_queue *q, struct packet **packets, uint32_t n);
