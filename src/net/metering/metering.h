/* SPDX-License-Identifier: Apache-2.0
 *
 * Flows that are metered (RFC 7011, section 2: the metering process): what was seen of
 * each, and those that have ended. Plain declarations, as in native/api.h.
 */
#pragma once

#include <stdint.h>

#include "../flow/flow.h"

struct link;

enum { METER_ENDED_MOST = 1024, METER_LINE_MOST = 512 };
enum { METER_LIVE, METER_ENDING }; /* lists of the table: ENDING has seen FIN or RST */

/* Why a flow's record is exported: flowEndReason (RFC 7012; IANA's IPFIX element 136). */
enum { METER_IDLE = 1, METER_ACTIVE = 2, METER_FINISHED = 3, METER_FLUSHED = 4,
       METER_EVICTED = 5, METER_REASONS = 6 };

/* One direction of what has the same addresses, ports, protocol, VLANs and input.
 * Addresses as in packets, IPv4's with zeros behind; other numbers in the host's order. */
struct meter_key {
  uint8_t source[16], destination[16];
  uint16_t source_port, destination_port; /* of ICMP: 0, and type * 256 + code */
  uint8_t protocol, version;
  uint16_t vlan, inner_vlan; /* 0: none */
  uint8_t input, unused[5];
};

/* Times are nanoseconds since 1970. */
struct meter_counts {
  uint64_t first, last;
  uint64_t packets, octets;  /* octets: from the IP header on */
  uint8_t tcp_flags;         /* of all packets */
  uint8_t unused[23];
};

struct meter_record { struct meter_key key; struct meter_counts value; struct flow_age age; };

struct meter_ended { struct meter_key key; struct meter_counts value; uint8_t reason; };

struct meter {
  struct flow_table *table;  /* of meter_record; its ages are in milliseconds */
  uint64_t active;           /* ns after which a flow that goes on is told of */
  uint64_t now;              /* of the newest burst */
  int64_t now_ms;
  uint64_t packets, octets;  /* of flows */
  uint64_t flows;            /* that have begun */
  uint64_t not_ip, refused;  /* packets: no IP; of no flow, as the table was full */
  uint64_t fragments;        /* packets without ports: fragments but the first */
  uint64_t cut;              /* and those too short to have some */
  uint64_t ended_by[6];      /* records, by reason */
  uint32_t ended;            /* how many wait in `record` to be exported */
  struct meter_ended record[1024];
};

/* meter.c */
struct meter *pg_meter_new(struct flow_table *table, uint64_t active);
void pg_meter_free(struct meter *m);
uint32_t pg_meter_take(struct meter *m, const struct link *l, uint32_t from, uint32_t n,
                       uint32_t input);
bool pg_meter_expire(struct meter *m, uint32_t most);
bool pg_meter_flush(struct meter *m);

/* encode.c */
uint32_t pg_meter_line(const struct meter_ended *e, const char *port, char *at,
                       uint32_t room);
uint32_t pg_meter_ipfix(const struct meter_ended *e, uint8_t *at);
