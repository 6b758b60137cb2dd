/* SPDX-License-Identifier: Apache-2.0
 *
 * Extension headers of IPv6 (RFC 8200, section 4).
 */
#include <stdint.h>

#include "ip.h"

enum { HEADER = 40, NEXT = 6 };
enum { HOP_BY_HOP = 0, ROUTING = 43, FRAGMENT = 44, AUTHENTICATION = 51,
       DESTINATION = 60 };

/* Bytes of the extension header at `at` with that number; 0 if it is none. */
static uint32_t length_of(uint8_t header, const uint8_t *at)
{
  switch (header) {
  case HOP_BY_HOP: case ROUTING: case DESTINATION:
    return (at[1] + 1) * 8;
  case FRAGMENT:
    return 8;
  case AUTHENTICATION:
    return (at[1] + 2) * 4;
  default:
    return 0;
  }
}

/* Where the first header is that isn't an extension, or that isn't whole within the
 * `available` bytes, and in the upper 16 bits its number. */
uint32_t pg_ip6_transport(const uint8_t *ip6, uint32_t available)
{
  uint32_t at = HEADER;
  uint8_t header = ip6[NEXT];
  while (at + 8 <= available) {
    uint32_t n = length_of(header, ip6 + at);
    if (n == 0 || at + n > available)
      break;
    header = ip6[at];
    at += n;
  }
  return (uint32_t)header << 16 | at;
}
