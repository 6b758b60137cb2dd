/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the memif port share. A port has at most one session, with one peer;
 * a hub is a socket with the thread that serves it: of all servers at that path, or of one
 * client.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include <rte_common.h>
#include <rte_ether.h>
#include <rte_spinlock.h>

#include "../../native/api.h"
#include "memif.h"
#include "wire.h"

enum { MOST_REGIONS = 256, MOST_QUEUES = 16, LEAST_LOG2 = 1, MOST_LOG2 = 14 };

/* Of so many regions the files stay open, so that an upgrade can pass them on. */
enum { KEPT_FILES = 16 };

/* Why a peer is let go: the name that it is counted by, and what it is told. */
#define MEMIF_FAULTS(F) \
  F(MESSAGE_LENGTH, "message_length", "a message hasn't 128 bytes") \
  F(MESSAGE_ORDER, "message_order", "a message of this type isn't due now") \
  F(MESSAGE_FILES, "message_files", "a message has too many or too few descriptors") \
  F(VERSION, "version", "the version must be 2.0") \
  F(MODE, "mode", "the mode must be Ethernet") \
  F(ID, "id", "there is no interface of this id") \
  F(TAKEN, "taken", "the interface has a peer already") \
  F(SECRET, "secret", "the secret is another") \
  F(SILENT, "silent", "the handshake takes too long") \
  F(UNREAD, "unread", "messages aren't read") \
  F(REGION_NUMBER, "region_number", "a region's number isn't the next") \
  F(REGION_FILE, "region_file", "a region isn't a file in memory (tmpfs, hugetlbfs)") \
  F(REGION_SIZE, "region_size", "a region is empty, or larger than its file") \
  F(REGION_MAP, "region_map", "a region can't be mapped") \
  F(REGION_CUT, "region_cut", "a region's file was cut, or has no memory left") \
  F(RING_NUMBER, "ring_number", "a ring's number isn't the next, or too high") \
  F(RING_SIZE, "ring_size", "a ring must have 2 to 16384 descriptors") \
  F(RING_PLACE, "ring_place", "a ring isn't in its region, or not aligned") \
  F(RING_COOKIE, "ring_cookie", "a ring doesn't begin as memif's do") \
  F(RING_EVENT, "ring_event", "a ring's descriptor isn't an eventfd") \
  F(RING_NONE, "ring_none", "there must be a ring each way") \
  F(RING_CURSOR, "ring_cursor", "a ring says it has more than it holds") \
  F(BAD_REGION, "descriptor_region", "a descriptor names a region that isn't there") \
  F(BAD_PLACE, "descriptor_place", "a descriptor reaches beyond its region") \
  F(CHAIN, "chain", "a packet has no end, or buffers are far too small")

#define NAME_FAULT(name, word, sentence) FAULT_##name,
enum fault { FAULT_NONE, MEMIF_FAULTS(NAME_FAULT) FAULTS };
#undef NAME_FAULT

/* Memory of the peer's, or shared with it: nothing outside `size` is ever touched. */
struct region {
  uint8_t *at;
  uint64_t size, span;       /* of the mapping: whole pages */
  int guard;                 /* memory.c */
  int file;                  /* or -1 */
};

/* A ring, and what is known of it without looking at what the peer can write. */
struct ring {
  struct memif_ring *shared;
  uint32_t size;             /* descriptors: a power of 2 */
  uint16_t head, tail;       /* ours: as far as we are */
  int bell;                  /* eventfd, or -1 */
  uint32_t first;            /* of a client: offset of the buffer of its slot 0 */
  struct memif_descriptor *descriptors;
  /* As told, until it is looked for. */
  uint16_t region;
  uint32_t offset;
};

struct session {
  bool serves;
  uint32_t buffer;           /* of a client: bytes of each */
  uint16_t regions, receives, sends; /* how many there are of: */
  struct ring receive[MOST_QUEUES], send[MOST_QUEUES];
  atomic_int fault;          /* of a burst's, once */
  int wake;                  /* the hub's */
  uint32_t cuts;             /* of regions, that were looked at (memory.c) */
  struct region region[MOST_REGIONS];
};

/* A queue in one direction: who uses it has the lock, and the session it may use. */
struct lane {
  rte_spinlock_t lock;
  struct session *session;
  uint64_t packets, bytes, errors;
} __rte_cache_aligned;

struct hub;

struct memif {
  struct lane receive[MOST_QUEUES], send[MOST_QUEUES];
  struct memif_options options;
  struct hub *hub;
  struct memif *next;        /* at the hub */
  struct peer *peer;   /* that says it has this id, or NULL */
  struct session *live;
  struct rte_ether_addr mac;
  uint64_t faults[FAULTS];
  int changed;               /* eventfd: there is another session */
  _Atomic uint32_t sessions; /* that there were */
  double quiet_until;        /* of what is said about peers */
  bool told;                 /* that the server refuses */
};

enum awaited { AWAIT_HELLO, AWAIT_ACK, AWAIT_CONNECTED, /* of a client */
               AWAIT_INIT, AWAIT_PARTS, /* of a server */
               AWAIT_END };

struct peer {
  struct peer *next;
  int fd;
  enum awaited awaited;
  uint16_t step;             /* of a client: messages that were acknowledged */
  struct memif *port;        /* NULL: not yet known */
  struct session *session;
  double deadline;
};

struct hub {
  struct hub *next;
  struct sockaddr_un address;
  int listener;              /* -1: of a client */
  ino_t socket;              /* the listener's file */
  int wake;                  /* eventfd, never shared */
  bool ends, passed;         /* passed: to the next process, with all its peers */
  pthread_t thread;
  pthread_mutex_t lock;      /* of all that follows, and of its ports but for bursts */
  struct memif *ports;
  struct peer *peers;
  double deaf_until;         /* accepts and connects to nobody */
  double soon_until;         /* of a client: asks again soon */
};

/* memory.c: how often memory of a region was gone, of all there are. */
extern _Atomic uint32_t pg_memif_cuts;
void pg_memif_guard(void);
enum fault pg_memif_adopt(struct region *r, int fd, uint64_t size);
int pg_memif_share(struct region *r, uint64_t size);
void pg_memif_leave(struct region *r);
bool pg_memif_is_cut(const struct region *r);

/* bell.c */
bool pg_memif_is_bell(int fd);
void pg_memif_wake(int fd);

/* session.c */
const char *pg_memif_fault_name(enum fault f);
const char *pg_memif_fault_text(enum fault f);
struct session *pg_memif_session(bool serves, int wake);
void pg_memif_session_free(struct session *s);
struct ring *pg_memif_ring_of(struct session *s, bool c2s, uint16_t i);
enum fault pg_memif_add_region(struct session *s, const struct memif_message *m, int *fd);
enum fault pg_memif_add_ring(struct session *s, const struct memif_message *m, int *fd,
                             uint16_t most);
enum fault pg_memif_find_rings(struct session *s);
enum fault pg_memif_find_ring(const struct session *s, struct ring *r);
void pg_memif_be_quiet(struct session *s);
uint64_t pg_memif_place_rings(struct session *s, uint16_t c2s, uint16_t s2c, uint8_t log2);
struct session *pg_memif_offer(const struct memif_options *o, uint16_t c2s, uint16_t s2c,
                               uint8_t log2, int wake);
void pg_memif_give_buffers(struct session *s);

/* peer.c */
enum fault pg_memif_hear(struct hub *h, struct peer *c, bool *gone);
void pg_memif_send_hello(const struct hub *h, int fd);
void pg_memif_send_end(int fd, enum fault why);
void pg_memif_go_live(struct memif *m, struct session *s);

/* hub.c */
struct peer *pg_memif_add_peer(struct hub *h, int fd, enum awaited awaited, struct memif *port);
void pg_memif_drop(struct hub *h, struct peer *c);
int pg_memif_start_thread(struct hub *h);

/* socket.c */
int pg_memif_join(struct memif *m);
void pg_memif_part(struct memif *m);

/* passed.c */
int pg_memif_listener(struct hub *h);
bool pg_memif_take_session(struct hub *h, struct memif *m);

/* receive.c, send.c */
struct rte_mbuf;
uint16_t pg_memif_receive(struct port *port, struct rte_mbuf **packets, uint16_t n);
uint16_t pg_memif_send(struct port *port, struct rte_mbuf **packets, uint16_t n);
