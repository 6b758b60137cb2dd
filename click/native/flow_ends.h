/* SPDX-License-Identifier: Apache-2.0
 *
 * The two ends of a packet's flow, read and rewritten by Lua. Plain declarations, as in
 * native/api.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet;

/* Addresses and ports as they are in the packet; tcp_flags: 0 if it isn't TCP. */
struct click_flow_ends {
  uint32_t source, destination;
  uint16_t sport, dport;
  uint8_t protocol, tcp_flags;
};

/* False: it has no IPv4 header, or no ports; what it hasn't is 0 then. */
bool pg_flow_ends(const struct packet *p, struct click_flow_ends *ends);

/* Give a packet that has an IPv4 header another source (or destination) address, and
 * where it has ports, another port; checksums follow (RFC 1624). */
void pg_flow_set_end(struct packet *p, bool destination, uint32_t address, uint16_t port);

/* The same of the address alone. False: it has no IPv4 header. */
bool pg_flow_set_address(struct packet *p, bool destination, uint32_t address);

/* FastClick's hash of a flow: CRC32c of the protocol, the addresses and the ports. */
uint32_t pg_flow_crc(const struct click_flow_ends *ends);
