/* SPDX-License-Identifier: Apache-2.0
 *
 * Which protocols above IP begin with two ports, the source's first (RFC 9293, RFC 768,
 * RFC 9260, RFC 4340, RFC 3828).
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

enum { PORTS_BYTES = 4 };

/* Those whose ports cards choose queues by: TCP, UDP and SCTP. */
static inline bool has_hashed_ports(uint8_t protocol)
{
  return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP;
}

/* All of them: DCCP and UDP-Lite, too. */
static inline bool has_ports(uint8_t protocol)
{
  return has_hashed_ports(protocol) || protocol == IPPROTO_DCCP ||
         protocol == IPPROTO_UDPLITE;
}
