/* SPDX-License-Identifier: Apache-2.0
 *
 * What elements keep of a flow manager's flows, as the next process goes on with it
 * (click.flow.kept). Plain declarations, as in native/api.h; those of flow_manager.h come
 * before.
 */
#pragma once

#include "flow_manager.h"

/* What a server carries, in numbers of Lua's. */
struct click_load { double connections, packets, bytes, cpu, raw; };

/* Flows that have begun, and those that haven't ended. */
struct click_flow_counts { double begun, open; };

/* What a port stands for: a source, and where it sent to (0 where nobody asks). `made`
 * counts how often the port was given; `used` 0: it is free; `ends`: sides that have sent
 * FIN. */
struct click_port {
  uint32_t address, destination, server, made, references;
  uint16_t port;
  uint8_t used, ends;
};

/* Of a flow with a port: the port (0: none yet), its `made` then; what load balancers
 * keep; the ends of the flow, and the sum of all that. */
struct click_port_area {
  uint32_t port, made, server, open, address, destination;
  uint16_t sport, dport;
  uint32_t sum;
};

struct click_server_area { uint32_t server, open; }; /* server 0: none */
struct click_counter_area { uint32_t packets, unused; };

/* NEW: the area begins with zeros. */
enum click_area_kind { AREA_NEW, AREA_COUNTER, AREA_SERVER, AREA_PORT };
enum { PORT_FIRST = 1024, PORT_END = 65536, PORT_GIVEN = 1 };

/* Where an element's area is in a record, and what the element has. Of a NAT without
 * servers `source` is one address, `address` and `server` are NULL. */
struct click_area {
  uint32_t kind, offset, size;
  uint32_t copies, copy;     /* of the router; copies 0: it has none */
  uint32_t servers;          /* of the former process */
  const uint32_t *server;    /* by its number there: 1 + the number now; 0: gone */
  struct click_load *load;
  struct click_flow_counts *counts;
  struct click_port *port;   /* by number */
  const uint32_t *address, *source; /* of servers, by their number now */
  struct click_flow_id *owner; /* of ports: whose flow waits; all zeros: nobody's */
};

struct click_areas {
  struct flow_table *table;
  struct click_area *area;
  uint32_t n, tag;
  uint32_t refused;          /* no record is used: an outcome; 0: they are */
  uint32_t copies, copy;     /* of the router; copies 0: it has none */
};

/* Outcomes beyond those of net/keep/keep.h. */
enum click_areas_outcome {
  AREAS_OTHERS = 5, AREAS_SOURCE, AREAS_SERVER, AREAS_PORT, AREAS_COPY
};

/* The port that the record's flow had is nobody else's, and answers find it, until the
 * record itself is restored: a keep_seen of a struct click_areas. */
void pg_flow_areas_see(void *areas, const void *record);

/* Go on with the flow of a record: a keep_restore. */
uint32_t pg_flow_areas_restore(void *areas, const void *record, int64_t now);

/* Go on with all flows of another table: `outcomes`, one for each enum click_areas_outcome
 * and keep_outcome, count what became of them. Ports are theirs once see_all() was called. */
void pg_flow_areas_take(struct click_areas *areas, const struct flow_table *from,
                        int64_t now, uint64_t *outcomes);
void pg_flow_areas_see_all(struct click_areas *areas, const struct flow_table *from);

/* Does the record's flow come to this copy? A keep_own. */
bool pg_flow_areas_is_own(void *areas, const void *record);

/* By this a flow with a port goes on: what is half written has another one. */
uint32_t pg_flow_port_sum(const struct click_port_area *area);
