/* SPDX-License-Identifier: Apache-2.0
 *
 * pcap ports, as Lua opens them (kind.lua). Plain declarations: core.declare reads them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct port;

int pg_pcap_open(struct port *port, const char *rx, const char *tx, bool loop,
                 uint32_t copies, uint32_t copy, int32_t by);
int pg_pcap_create(struct port *port);
bool pg_pcap_over(const struct port *port);
int pg_pcap_ended(const struct port *port);
const char *pg_pcap_failure(const struct port *port);
