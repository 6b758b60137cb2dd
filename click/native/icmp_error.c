/* SPDX-License-Identifier: Apache-2.0
 *
 * ICMPError's errors (net/icmp/error.c): the route back, annotations, and addresses that
 * get none.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

#include "../../src/native/api.h"
#include "../../src/net/icmp/icmp.h"
#include "../../src/net/icmp/types.h"
#include "../../src/net/wire/ip4_options.h"
#include "ip.h"

enum { MINIMAL = IP4_HEADER, LIFE = 200 };
enum { UNREACHABLE = 3, REDIRECT = 5, PARAMETER_PROBLEM = 12 };
enum { NEEDS_FRAGMENTING = 4, AT_POINTER = 0 };
enum { END_OF_OPTIONS = 0 };

/* Is the address one of those that get no errors? */
static bool is_bad(const struct icmp_error *e, uint32_t address)
{
  for (uint32_t i = 0; i < e->nbad; i++)
    if (address == e->bad[i])
      return true;
  return false;
}

/* Does the packet with this header, and so many bytes to its end, get an error? */
static bool deserves(const struct icmp_error *e, const struct packet *p,
                     const uint8_t *ip, uint32_t to_end)
{
  uint8_t type = p->note8[NOTE8_PACKET_TYPE];
  const uint8_t *source = ip + IP4_ADDRESSES;
  return type != PACKET_TYPE_BROADCAST && type != PACKET_TYPE_MULTICAST
    && pg_icmp4_deserves(ip, to_end) && !is_bad(e, load32(source))
    && !is_bad(e, load32(source + 4));
}

/* The route back, if the header has a source route that the error isn't about; how many
 * bytes it is at `to`, filled up to words. -1: there must be no error. */
static int32_t route_back(const struct icmp_error *e, const struct packet *p,
                          const uint8_t *ip, uint32_t length, uint8_t *to)
{
  const uint8_t *route = length > MINIMAL ? ip4_source_route(ip, length) : NULL;
  if (!route)
    return 0;
  if (e->type == REDIRECT)
    return -1;
  const uint8_t *pointed = ip + p->note8[NOTE8_ICMP_PARAMPROB];
  if (e->type == PARAMETER_PROBLEM && e->code == AT_POINTER
      && pointed >= route && pointed < route + route[1])
    return 0;
  uint32_t n = route[2] - 1; /* of the addresses that were passed, and 3 more */
  to[0] = route[0];
  to[1] = n;
  to[2] = 4;
  for (uint32_t at = 3; at + 4 <= n; at += 4)
    memcpy(to + at, route + n - at - 1, 4);
  to[n] = END_OF_OPTIONS;
  return n + 1;
}

/* The second word of the ICMP header. */
static uint32_t details(const struct icmp_error *e, const struct packet *about)
{
  if (e->type == PARAMETER_PROBLEM && e->code == AT_POINTER)
    return (uint32_t)about->note8[NOTE8_ICMP_PARAMPROB] << 24;
  if (e->type == REDIRECT)
    return rte_be_to_cpu_32(about->note32[NOTE32_DST_IP]);
  return e->type == UNREACHABLE && e->code == NEEDS_FRAGMENTING ? e->path_mtu : 0;
}

/* Give the fresh packet `q` the annotations of an error to `destination`. */
static void annotate(const struct icmp_error *e, struct packet *q, uint32_t headers,
                     const uint8_t *destination, double now)
{
  memset(q->note8, 0, sizeof q->note8);
  q->note16[NOTE16_NETWORK] = q->data_off;
  q->note16[NOTE16_TRANSPORT] = q->data_off + headers;
  q->note32[NOTE32_DST_IP] = load32(destination);
  q->note64[NOTE64_TIMESTAMP] = (uint64_t)(now * 1e9);
  q->note8[NOTE8_FIX_IP_SRC] = e->fix_source;
}

/* Make the fresh packet `q` the error about `about`, which comes at `now` (seconds).
 * False if there must be none. */
bool pg_icmp_error(struct icmp_error *e, const struct packet *about, struct packet *q,
                   double now)
{
  uint32_t at = about->note16[NOTE16_NETWORK], end = about->data_off + about->length;
  const uint8_t *ip = about->buf_addr + at;
  if (at == 0 || at + MINIMAL > end)
    return false;
  uint32_t length = (ip[0] & 15) * 4, to_end = end - at;
  if (length < MINIMAL || length > to_end || !deserves(e, about, ip, to_end))
    return false;
  uint8_t *out = q->buf_addr + q->data_off;
  int32_t options = route_back(e, about, ip, length, out + MINIMAL);
  if (options < 0)
    return false;
  uint32_t headers = MINIMAL + options;
  if (e->mtu < headers + ICMP_HEADER)
    return false;
  uint32_t room = e->mtu - headers - ICMP_HEADER, quoted = to_end < room ? to_end : room;
  struct icmp_kind kind = {e->type, e->code, details(e, about)};
  pg_icmp4_error(out, headers, (*e->id)++, LIFE, e->source, ip + IP4_ADDRESSES, &kind, ip,
                 quoted);
  q->length = headers + ICMP_HEADER + quoted;
  annotate(e, q, headers, ip + IP4_ADDRESSES, now);
  return true;
}
