/* SPDX-License-Identifier: Apache-2.0
 *
 * What Lua asks of vhost ports (kind.lua). Plain declarations: core.declare reads them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct port;

/* vhost.c */
int pg_guest_tend(struct port *port);

/* wait.c */
int32_t pg_guest_descriptors(const struct port *port, int32_t *fds, int32_t most);
uint32_t pg_guest_notify(const struct port *port, bool on);
