/* SPDX-License-Identifier: Apache-2.0
 *
 * Work for WorkPackage and RandLoad, which keep a CPU busy.
 */
#pragma once

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
