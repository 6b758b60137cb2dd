/* SPDX-License-Identifier: Apache-2.0
 *
 * memif ports, as Lua opens them (kind.lua). Plain declarations: core.declare reads them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct port;

/* What the port string says. The client decides on rings and buffers. */
struct memif_options {
  const char *path;          /* of the socket */
  bool serves;
  uint32_t id;
  uint16_t queues;           /* each way, at most */
  uint8_t log2;              /* of a ring's descriptors */
  uint32_t buffer;           /* bytes of each */
  uint8_t secret[24];        /* zeros behind it; all zeros: none */
};

int pg_memif_open(struct port *port, const struct memif_options *options);

/* wait.c */
int32_t pg_memif_descriptors(const struct port *port, int32_t *fds, int32_t most);
uint32_t pg_memif_notify(const struct port *port, bool on);

/* passed.c */
void pg_memif_pass(const struct port *port, int connection);
bool pg_memif_has_peer(const struct port *port);
bool pg_memif_is_passed(const char *path, bool serves);
void pg_memif_forget(void);
