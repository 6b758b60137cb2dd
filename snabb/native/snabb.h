/* SPDX-License-Identifier: Apache-2.0
 *
 * What the C code of this folder and Lua share; plain declarations, as in
 * src/native/api.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../../src/native/kernels.h"

struct freelist;

/* atomic.c */
uint32_t pg_atomic_load32(const uint32_t *from);
uint64_t pg_atomic_load64(const uint64_t *from);
bool pg_atomic_cas32(int32_t *at, int32_t old, int32_t new);
bool pg_atomic_cas64(uint64_t *at, uint64_t old, uint64_t new);

/* search.c */
const void *pg_binary_search(const void *entries, uint32_t count,
                             uint32_t size, uint32_t key);
void pg_multi_copy(void *to, void **from, uint32_t count,
                   uint32_t size);

/* What keys of a hash table are, how one is added, and why it can't be. */
enum ctable_kind { CTABLE_BYTES, CTABLE_UNSIGNED, CTABLE_SIGNED, CTABLE_FLOAT };
enum ctable_mode { CTABLE_ADD, CTABLE_SET, CTABLE_UPDATE, CTABLE_ANEW };
enum ctable_problem {
  CTABLE_NO_PROBLEM, CTABLE_PRESENT, CTABLE_ABSENT, CTABLE_DISPLACED
};

/* A hash table of Snabb's; an entry is a hash, a key and a value (ctable.c). */
struct ctable {
  uint8_t *entries;
  uint64_t bytes;            /* of memory that they have */
  double scale;              /* from a hash to the place it stands for */
  uint32_t size, occupancy;  /* entries */
  uint32_t max_displacement, displacement_limit;
  uint32_t entry_size, key_size, value_size; /* bytes */
  uint8_t key_kind;
  uint8_t problem;           /* of the last that was added */
  struct siphash hash;       /* its stride is entry_size */
};

/* ctable.c */
bool pg_ctable_open(struct ctable *t);
void pg_ctable_close(struct ctable *t);
uint32_t pg_ctable_hash(const struct ctable *t, const void *key);
void *pg_ctable_lookup(const struct ctable *t, const void *key);
void *pg_ctable_add(struct ctable *t, const void *key, enum ctable_mode mode);
bool pg_ctable_remove(struct ctable *t, void *entry);
uint64_t pg_ctable_next(const struct ctable *t, uint64_t index, uint64_t end);
bool pg_ctable_refill(struct ctable *t, const struct ctable *from);
void pg_ctable_blank(uint8_t *key, uint32_t n, uint32_t stride, const uint32_t *offsets,
                     uint32_t count);
void pg_ctable_stream(const struct ctable *t, void *entries, uint32_t n);

/* lpm.c */
uint32_t pg_poptrie_lookup32_16(const void *leaves, const void *nodes,
                                  const uint8_t *key, const void *map,
                                  uint32_t direct);
uint32_t pg_poptrie_lookup32_32(const void *leaves, const void *nodes,
                                  const uint8_t *key, const void *map,
                                  uint32_t direct);
uint32_t pg_poptrie_lookup64_16(const void *leaves, const void *nodes,
                                  const uint8_t *key, const void *map,
                                  uint32_t direct);
uint32_t pg_poptrie_lookup64_32(const void *leaves, const void *nodes,
                                  const uint8_t *key, const void *map,
                                  uint32_t direct);
uint32_t pg_poptrie_lookup128_16(const void *leaves, const void *nodes,
                                  const uint8_t *key, const void *map,
                                  uint32_t direct);
uint32_t pg_poptrie_lookup128_32(const void *leaves, const void *nodes,
                                  const uint8_t *key, const void *map,
                                  uint32_t direct);

/* What AES-GCM is to do (aes_gcm.c). Sizes are in bytes. */
struct gcm_call {
  uint8_t *to;
  const uint8_t *from;
  uint64_t size;             /* of both */
  const uint8_t *iv;         /* 12 bytes */
  const uint8_t *aad;        /* authenticated data: 16 bytes at most, or a block */
  uint64_t aad_size;         /* that pg_gcm_prehash made of as many */
  uint8_t *tag;
  uint64_t tag_size;
  uint32_t bits;             /* of the key */
  bool encrypts;
};

/* aes_gcm.c */
uint32_t pg_gcm_room(void);
int pg_gcm_expand(void *room, const uint8_t *key, uint32_t bits);
void pg_aes_block(const void *room, uint8_t *block, uint32_t bits);
void pg_gcm_prehash(const void *room, uint8_t *block, const uint8_t *data,
                    uint64_t n);
void pg_gcm_run(const void *room, const struct gcm_call *call);

enum { METADATA_MAGIC = 0x5abb };

/* What apps.rss.metadata tells of a packet (metadata.c). Offsets are from its start. */
struct metadata {
  uint16_t magic;
  uint16_t ethertype;        /* behind a VLAN tag, if there is one */
  uint16_t vlan;             /* 0 if there is none */
  uint16_t total_length;     /* bytes from the IP header on, as it says */
  uint8_t *filter_start;     /* for filters, which don't see the tag */
  uint16_t filter_length;
  uint8_t *l3, *l4;
  uint16_t filter_offset, l3_offset, l4_offset;
  uint8_t proto;             /* behind IPv6 extension headers */
  uint16_t frag_offset;      /* in units of 8 bytes */
  int16_t length_delta;      /* bytes more than the IP header says */
  uint16_t ref;              /* classes of apps.rss that it is in */
  uint16_t hash;             /* of the flow */
} __attribute__((packed));

/* metadata.c */
struct metadata *pg_metadata_add(struct packet *p, bool remove, int vlan);
struct metadata *pg_metadata_copy(struct packet *to, const struct packet *from);
int pg_metadata_burst(struct packet **packets, int n, bool remove, int vlan,
                      const struct siphash *ip4, const struct siphash *ip6);

/* A log of events in shared memory, in the format of Snabb's timelines 3.0. */
struct timeline_header {
  uint64_t magic;
  uint16_t major_version, minor_version;
  uint32_t log_bytes, strings_bytes;
  uint8_t reserved[44];
};

struct timeline_entry {
  double tsc;
  uint16_t msgid;            /* where its text is in the strings, in 16 bytes */
  uint16_t core_numa;        /* CPU in bits 0-11, NUMA node above */
  uint32_t reserved;
  double arg[6];
};

/* Of the process that logs. */
struct timeline_state {
  struct timeline_entry *entries;
  uint32_t rate;             /* events below it aren't logged */
  uint32_t next_entry, num_entries;
  char *stringtable;
  int stringtable_size, next_string;
};

/* timeline.c */
void pg_timeline_log(struct timeline_state *t, uint32_t rate, uint32_t msgid,
                     double arg0, double arg1, double arg2, double arg3,
                     double arg4, double arg5);

/* A queue in shared memory; a cache line for what each side writes. Cursors count
 * slots and packets from the beginning. */
enum { INTERLINK_SLOT = 2112 };
struct interlink {
  int32_t state, size;       /* `size` packets - 1 at most */
  int32_t receiver, transmitter; /* process ids, 0 if unknown */
  uint32_t slots;
  uint32_t receiver_space, transmitter_space; /* their pid namespaces */
  uint32_t pad0[9];
  uint64_t read, read_packets, pad1[6];
  uint64_t write, write_packets, pad2[6];
  uint8_t ring[1];           /* and what follows */
};

/* What a side keeps for itself, where the other can't write. */
enum interlink_lie { INTERLINK_TRUE, INTERLINK_CURSOR, INTERLINK_LENGTH };
struct interlink_side {
  struct interlink *shared;
  uint32_t size, slots;
  uint32_t index;            /* of the slot that is next */
  uint32_t lie;              /* of the other side; nothing goes on after one */
  uint64_t own, packets;     /* cursors, which push and pull publish */
  uint64_t other;            /* the other's, as last seen */
};

/* interlink.c */
void pg_interlink_attach(struct interlink_side *s, bool receiver);
bool pg_interlink_full(struct interlink_side *s);
void pg_interlink_insert(struct interlink_side *s, const struct packet *p);
void pg_interlink_push(struct interlink_side *s);
bool pg_interlink_empty(struct interlink_side *s);
void pg_interlink_extract(struct interlink_side *s, struct packet *p);
void pg_interlink_pull(struct interlink_side *s);
int pg_interlink_send(struct interlink_side *s, struct link *link,
                      struct freelist *account);
int pg_interlink_receive(struct interlink_side *s, struct link *link,
                         struct freelist *account, int max);
