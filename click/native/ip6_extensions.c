/* SPDX-License-Identifier: Apache-2.0
 *
 * What follows extension headers of IPv6, for CheckIP6Header.
 */
#include <stdint.h>

#include "../../src/net/wire/ip6_extensions.h"
#include "../../src/net/wire/wire.h"
#include "ip.h"

/* Where the first header is that isn't an extension, or that isn't whole within the
 * `available` bytes, and in the upper 16 bits its number. */
uint32_t pg_ip6_transport(const uint8_t *ip6, uint32_t available)
{
  uint32_t at = IP6_HEADER;
  uint8_t header = ip6[IP6_NEXT];
  while (ip6_is_extension(header) && at + IP6_EXTENSION_LEAST <= available) {
    uint32_t n = ip6_extension_length(header, ip6 + at);
    if (at + n > available)
      break;
    header = ip6[at];
    at += n;
  }
  return (uint32_t)header << 16 | at;
}
