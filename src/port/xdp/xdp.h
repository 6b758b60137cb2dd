/* SPDX-License-Identifier: Apache-2.0
 *
 * What Lua asks of xdp ports (kind.lua). Plain declarations: core.declare reads them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct port;

/* program.c */
const char *pg_xdp_problem(void);

/* xsk.c */
int pg_xdp_descriptor(const char *interface, uint32_t queue);

/* others.c: whose XDP program the interface has: XDP_UNKNOWN without CAP_SYS_ADMIN. */
enum { XDP_NOBODYS, XDP_PERIGEES, XDP_ANOTHERS, XDP_UNKNOWN };
int pg_xdp_owner(const char *name);
