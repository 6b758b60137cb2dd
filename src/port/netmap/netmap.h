/* SPDX-License-Identifier: Apache-2.0
 *
 * netmap ports, as Lua opens them (kind.lua). Plain declarations: core.declare reads them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct port;

int pg_netmap_open(struct port *port, const char *name, bool is_interface);
int pg_netmap_tend(struct port *port);
int pg_netmap_descriptor(const struct port *port);
