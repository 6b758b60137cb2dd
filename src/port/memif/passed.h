/* SPDX-License-Identifier: Apache-2.0
 *
 * What an upgrade says of a memif socket (native/passed.h): of what listens, and of each
 * session. pass.c sends it, passed.c takes it.
 */
#pragma once

#include <stdint.h>
#include <sys/un.h>

#include "../../native/passed.h"
#include "state.h"

/* Another layout has another number. */
#define LISTENER_LAYOUT 0x50470003u
#define SESSION_LAYOUT 0x50470004u

enum { PATH_BYTES = sizeof ((struct sockaddr_un *)0)->sun_path };

/* The descriptor is one that listens. */
struct listener {
  uint32_t layout;
  char path[PATH_BYTES];
  uint64_t socket;           /* inode of the path */
};

struct passed_ring {
  uint16_t head, tail, region;
  uint8_t log2;
  uint32_t offset;
};

/* Descriptors: the connection, the regions, the receiving rings' bells, the sending ones'. */
struct passed_session {
  uint32_t layout;
  char path[PATH_BYTES];
  uint32_t id, buffer;
  uint16_t queues;
  uint8_t serves, log2, secret[24], mac[6];
  uint16_t regions, receives, sends;
  struct passed_ring receive[MOST_QUEUES], send[MOST_QUEUES];
  uint64_t bytes[KEPT_FILES]; /* of each region */
};

_Static_assert(sizeof(struct passed_session) <= PASSED_MOST_BYTES &&
               1 + KEPT_FILES + 2 * MOST_QUEUES <= PASSED_MOST_FDS, "one message");
