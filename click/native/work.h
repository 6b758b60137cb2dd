/* SPDX-License-Identifier: Apache-2.0
 *
 * Work for WorkPackage and RandLoad, which keep a CPU busy.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What is done for each packet. */
struct work_package {
  uint64_t state;         /* of the random numbers; not 0 */
  uint32_t *array;        /* of `size` words, */
  uint32_t size;
  uint32_t accesses;      /* so many are read, one after the other, */
  uint32_t packet_share;  /* of 100 of which so many are of the packet, */
  uint32_t packet_bytes;  /* of its first so many bytes */
  uint32_t draws;         /* random numbers are made before that */
  uint32_t result;        /* so that the compiler leaves nothing out */
};

void pg_work_seed(struct work_package *w);
void pg_work_package(struct work_package *w, const uint8_t *data, uint32_t length);

/* Make from `least` to `most` random numbers, which of these by chance. */
void pg_work_random(struct work_package *w, uint32_t least, uint32_t most);

/* What FlowWorkPackage does with its bytes of a flow. */
struct flow_work {
  struct work_package random; /* its draws for each packet */
  uint32_t bytes;             /* of each flow, */
  uint32_t flow_writes, flow_reads;     /* filled and read so often by its first packet, */
  uint32_t packet_reads, packet_writes; /* and by each */
};

/* Work for a packet: `area` has the flow's bytes, `header` is the packet's network header,
 * of which `length` bytes are there. */
void pg_work_flow(struct flow_work *w, uint8_t *area, const uint8_t *header,
                  uint32_t length, bool first);
