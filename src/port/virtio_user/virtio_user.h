/* SPDX-License-Identifier: Apache-2.0
 *
 * virtio-user ports, as Lua opens them (kind.lua). Plain declarations: core.declare reads them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct port;

int pg_virtio_user_open(struct port *port, const char *path, bool serves, bool offload,
                        bool waits, void *pool);
int32_t pg_virtio_user_descriptors(const struct port *port, int32_t fds[2]);
uint32_t pg_virtio_user_notify(const struct port *port, bool on);
