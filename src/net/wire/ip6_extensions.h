/* SPDX-License-Identifier: Apache-2.0
 *
 * Extension headers of IPv6 (RFC 8200, section 4; RFC 7045, section 2.2): each has the
 * number of the next header in its first byte, and its length follows from the second.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

enum { IP6_EXTENSION_LEAST = 8, IP6_FRAGMENT_FIELD = 2 };

/* Those that a packet's way or its destination reads: hop-by-hop options, routing,
 * destination options, fragment, authentication. */
static inline bool ip6_is_extension(uint8_t protocol)
{
  return protocol == IPPROTO_HOPOPTS || protocol == IPPROTO_ROUTING ||
         protocol == IPPROTO_DSTOPTS || protocol == IPPROTO_FRAGMENT ||
         protocol == IPPROTO_AH;
}

/* Bytes of the extension header `protocol`, of which the first IP6_EXTENSION_LEAST are at
 * `header`. (AH: RFC 4302, section 2.2.) */
static inline uint32_t ip6_extension_length(uint8_t protocol, const uint8_t *header)
{
  if (protocol == IPPROTO_FRAGMENT)
    return IP6_EXTENSION_LEAST;
  if (protocol == IPPROTO_AH)
    return (header[1] + 2) * 4;
  return (header[1] + 1) * 8;
}
