/* SPDX-License-Identifier: Apache-2.0
 *
 * What finds each packet's flow for the elements behind it (FlowIPManager). Plain
 * declarations, as in native/api.h; those of flows.h come before.
 */
#pragma once

#include "flows.h"

/* Whose packets are of one flow: addresses and ports as they are in packets. */
struct click_flow_id {
  uint32_t source, destination;
  uint16_t sport, dport;
  uint8_t protocol, unused[3];
};

/* A record begins like this; then comes what elements keep of the flow. A packet's note
 * has the same tag as its flow's record: the manager's number and the record's. One that
 * is no longer in use has tag 0. */
enum { FLOW_TAG_BITS = 27, FLOW_MANAGERS_MOST = 31 };
struct click_flow_head {
  struct click_flow_id id;
  uint32_t tag, unused;
};

struct click_flow_manager {
  struct flow_table *table;
  uint32_t tag;              /* its number, above that of a record */
  uint32_t added;            /* was the last packet the first of its flow? */
  uint32_t adds_none;        /* 1: flows that aren't there aren't added */
  struct click_foreseen burst;
};

/* The number of the packet's flow, whose tag is noted then (annotation FLOW_ID); a new
 * one if there was none. 0: there is no room; -1: it has no IPv4 header. */
int32_t pg_flow_manage(struct click_flow_manager *m, struct packet *p, int64_t now);

/* The number of the packet's flow, or of that which it is an answer to; 0: there is none;
 * -1: it has no IPv4 header. Nothing is noted or added. */
int32_t pg_flow_known(struct click_flow_manager *m, struct packet *p, bool answer);

/* Find the flows of these packets for pg_flow_manage, which sees whether they still are
 * that. */
void pg_flow_manage_ahead(struct click_flow_manager *m, struct packet **packets,
                          int32_t n);

/* The next record behind that number (0: the first) of a flow whose bucket
 * (core.cpus.distribute) has a 1 among these, one for each and a 0 behind; 0: there is
 * none. */
uint32_t pg_flow_manage_next(const struct click_flow_manager *m, uint32_t number,
                             const uint8_t *buckets);
