/* SPDX-License-Identifier: Apache-2.0
 *
 * AF_PACKET ports, as Lua opens them (kind.lua). Plain declarations: core.declare reads them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct port;

/* packet.c */
int pg_packet_open(struct port *port, const char *name, uint32_t frames, bool sends,
                   bool alone, bool waits, uint32_t copies, uint32_t copy, int32_t by);
int pg_packet_prepare(const char *name, uint32_t frames, bool sends);
int pg_packet_descriptor(const struct port *port);

/* share.c */
int pg_packet_take_share(int fd, uint32_t copies, uint32_t copy, int32_t by);

/* passed.c */
int pg_packet_pass(const struct port *port, int connection);
int pg_tap_pass(struct port *port, int connection);
void pg_tap_take(void);
void pg_tap_forget(void);   /* ioctl.c */

/* away.c */
int pg_packet_tend(struct port *port);
