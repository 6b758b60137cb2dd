/* SPDX-License-Identifier: Apache-2.0
 *
 * What Click's rewriters share with their kernels: flows (of net/flow/flow.h, which is
 * declared before), and what to do with their packets. Plain declarations, as in
 * native/api.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../../src/net/flow/flow.h"

struct packet;
struct click_flow_pools;

/* How the packets of a flow are rewritten. Ports are those of UDP, TCP and DCCP; TCP is
 * for TCP alone, whose connections' state and sequence numbers it looks after. */
enum {
  REWRITE_SOURCE, REWRITE_ADDRESSES, REWRITE_PORTS, REWRITE_TCP, REWRITE_PING
};

/* Addresses and ports as they are in packets. */
struct click_flow_key {
  uint32_t source, destination;
  uint16_t sport, dport;
};

/* A flow: the key of its packets, and the key of replies to those that were rewritten.
 * The number of a flow and a direction (0: forward, 1: reply) is 2 * flow + direction;
 * flow 0 isn't used. 64 bytes. */
struct click_flow {
  struct click_flow_key key[2];
  struct flow_age age;       /* in milliseconds */
  uint32_t number;           /* how many flows were made before it */
  uint16_t ip_change;        /* what it adds forward to the IP header's sum */
  uint16_t l4_change;        /* and to the sum that TCP and UDP have */
  uint8_t output[2];         /* from 0 */
  uint8_t kind, input;       /* of the rewriter that made it; kind NO_FLOW: it is gone */
  uint8_t state;
  uint8_t protocol;          /* 0: any */
  uint8_t reply_note;        /* annotation for replies */
  uint8_t shifted;           /* has it had changes of sequence numbers? */
};

/* The flows of a rewriter (of a protocol), by key and by age. A packet guarantees its
 * flow for some time: list 0. Then it is in the list of its timeout, and may go when
 * room is needed. */
enum { FLOW_GUARANTEED = 0, FLOW_TIMEOUTS = 3, FLOW_LISTS = 4 };
struct click_flow_kind {
  struct flow_index index;
  struct flow_list list[4];
  int64_t guarantee, timeout[3]; /* milliseconds; guarantee 0: none */
  uint32_t *counts;          /* of flows by input */
  uint8_t how;
  struct click_flow_pools *pools; /* flow_pools.h; NULL: no search was long */
};

/* Changes of sequence numbers: from `trigger` on, `delta` is added. The base counts
 * before the first trigger. */
enum { MOST_DELTAS = 16 };
struct click_delta { uint32_t trigger; int32_t delta; };
struct click_deltas {
  int32_t base[2];
  uint8_t n[2];
  struct click_delta list[2][16]; /* by direction, oldest first */
};

/* Flows that share a capacity. */
enum { MOST_FLOW_KINDS = 255, NO_FLOW = 255 };
struct click_flows {
  struct click_flow *flow;
  struct click_deltas **deltas; /* of each flow, or NULL; NULL: no flow has any */
  struct click_flow_kind *kind;
  uint32_t made;
  int32_t capacity, kinds;
  uint16_t copies, copy;     /* of a router on several CPUs; 0: it is the only one */
  struct flow_records records;
  struct flow_memory delta_memory;
  uint64_t choices;          /* ports and addresses that were looked at for new flows */
};

/* Packets of a burst and their flows, as they were found beforehand. */
enum { FORESEEN_MOST = 256 };
struct click_foreseen {
  int32_t n, next;
  uint32_t number[256];      /* 0: not found */
  struct packet *packet[256];
};

/* A rewriter. Kinds are numbers in `flows`, or -1. An annotation is an index into
 * note8, or -1. */
struct click_rewriter {
  struct click_flows *flows;
  int32_t tcp, other;
  int32_t reply_note;
  uint8_t how;
  uint8_t set_destination;   /* the destination annotation */
  uint8_t set_aggregate;
  struct click_flow_key key; /* of the last packet without a mapping, and its kind */
  int32_t kind;
  uint8_t protocol;
  struct click_foreseen foreseen;
};

/* Ports or addresses that are looked at for a new flow, at most; and how many that are
 * used it meets before they are noted. */
enum { FLOW_CHOICES = 512, FLOW_MET = 16 };

/* What of records that were kept (net/keep) may go on: by the kind and the input that
 * the record names its kind and input now; NO_FLOW: none. */
struct click_heirs { uint8_t kind[256], input[256][256], outputs[256]; };
struct click_into { struct click_flows *flows; const struct click_heirs *heirs; };
enum click_kept {
  KEPT_USED, KEPT_UNKNOWN, KEPT_OLD, KEPT_BAD, KEPT_TWICE, KEPT_SHIFTED, KEPT_ELSEWHERE,
  KEPT_NO_ROOM
};

/* flow_kept.c */
bool pg_flows_is_own(void *into, const void *record);
uint32_t pg_flows_restore(struct click_flows *t, const struct click_heirs *heirs,
                          const void *record, int64_t now);
uint32_t pg_flows_restore_into(void *into, const void *record, int64_t now);

/* flow_table.c */
struct click_flows *pg_flows_new(void);
void pg_flows_free(struct click_flows *t);
int32_t pg_flows_kind(struct click_flows *t, uint8_t how, int64_t guarantee,
                      const int64_t *timeout, uint32_t *counts);
uint32_t pg_flows_find(const struct click_flows *t, int32_t kind,
                       const struct click_flow_key *key);
bool pg_flows_is_free(const struct click_flows *t, int32_t kind,
                      const struct click_flow_key *reply);
bool pg_flows_comes_here(const struct click_flows *t, int32_t kind,
                         const struct click_flow_key *key);
int64_t pg_flows_free_key(struct click_flows *t, int32_t kind,
                          const struct click_flow_key *reply, bool port,
                          uint32_t base, uint32_t top, uint32_t first, bool in_order);

/* flow_age.c */
uint32_t pg_flows_add(struct click_flows *t, const struct click_flow *model,
                      const struct click_flow_key *rewritten, int64_t now);
void pg_flows_touch(struct click_flows *t, uint32_t flow, int64_t now);
void pg_flows_reap(struct click_flows *t, int64_t now, bool all);
void pg_flows_remove_input(struct click_flows *t, int32_t kind, uint8_t input);
void pg_flows_copy(struct click_flows *to, int32_t to_kind,
                   const struct click_flows *from, int32_t from_kind, uint8_t input,
                   int64_t now);
int64_t pg_flows_expiry(const struct click_flows *t, uint32_t flow);

/* rewrite.c: the output from 1 on; 0: it isn't for a rewriter; -1: it has no mapping */
int32_t pg_rewrite(struct click_rewriter *r, struct packet *p, int64_t now);
int32_t pg_rewrite_by(const struct click_rewriter *r, struct packet *p,
                      uint32_t number, int64_t now);
uint32_t pg_rewriter_find(const struct click_rewriter *r, uint8_t protocol,
                          const struct click_flow_key *key, bool reply);

/* rewrite_ahead.c */
void pg_rewrite_ahead(struct click_rewriter *r, struct packet **packets, int32_t n);

/* tcp_deltas.c */
bool pg_flow_shift(struct click_flows *t, uint32_t number, uint32_t trigger,
                   int32_t delta);
int32_t pg_flow_delta(const struct click_flows *t, uint32_t number);

/* icmp_rewrite.c: the number of the flow, or 0 */
struct click_quoted { const struct click_rewriter **maps; int32_t n, map; };
uint32_t pg_rewrite_icmp(struct click_quoted *q, struct packet *p,
                         bool set_destination, int32_t reply_note);
