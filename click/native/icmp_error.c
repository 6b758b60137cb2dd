/* SPDX-License-Identifier: Apache-2.0
 *
 * ICMP errors about IPv4 packets (RFC 792; RFC 1812, section 4.3.2).
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

#include "../../src/native/api.h"
#include "../../src/net/wire/ip4_options.h"
#include "ip.h"
#include "ip4_write.h"

enum { VERSION = 4, MINIMAL = IP4_HEADER, ICMP_HEADER = 8, LIFE = 200 };
enum { OFFSET = 6, PROTOCOL = 9, SOURCE = 12, DESTINATION = 16 };
enum { ICMP = 1, UNREACHABLE = 3, SOURCE_QUENCH = 4, REDIRECT = 5, TIME_EXCEEDED = 11,
       PARAMETER_PROBLEM = 12 };
enum { NEEDS_FRAGMENTING = 4, AT_POINTER = 0 };
enum { END_OF_OPTIONS = 0 };

static bool is_error(uint8_t type)
{
  return type == UNREACHABLE || type == SOURCE_QUENCH || type == REDIRECT
    || type == TIME_EXCEEDED || type == PARAMETER_PROBLEM;
}

static bool is_unicast(const struct icmp_error *e, const uint8_t *at)
{
  uint32_t address = load32(at);
  if (address == UINT32_MAX || (at[0] & 0xf0) == 0xe0)
    return false;
  for (uint32_t i = 0; i < e->nbad; i++)
    if (address == e->bad[i])
      return false;
  return true;
}

/* May errors be sent there? Not to this network, this host or class E. */
static bool is_sender(const struct icmp_error *e, const uint8_t *at)
{
  return is_unicast(e, at) && at[0] != 0 && at[0] != 127 && (at[0] & 0xf0) != 0xf0;
}

/* Does the packet with this header of `length` bytes, and so many to its end, get an
 * error at all (RFC 1812, section 4.3.2.7)? */
static bool deserves(const struct icmp_error *e, const struct packet *p,
                     const uint8_t *ip, uint32_t length, uint32_t to_end)
{
  uint16_t type = p->note16[NOTE16_PACKET_TYPE];
  if (type == PACKET_TYPE_BROADCAST || type == PACKET_TYPE_MULTICAST)
    return false;
  if (ip[PROTOCOL] == ICMP && (to_end < length + 4 || is_error(ip[length])))
    return false;
  if ((ip[OFFSET] & 0x1f) != 0 || ip[OFFSET + 1] != 0)
    return false;
  return is_unicast(e, ip + DESTINATION) && is_sender(e, ip + SOURCE);
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

/* The second word of the ICMP header, in network order. */
static uint32_t details(const struct icmp_error *e, const struct packet *about)
{
  if (e->type == PARAMETER_PROBLEM && e->code == AT_POINTER)
    return rte_cpu_to_be_32((uint32_t)about->note8[NOTE8_ICMP_PARAMPROB] << 24);
  if (e->type == REDIRECT)
    return about->note32[NOTE32_DST_IP];
  if (e->type == UNREACHABLE && e->code == NEEDS_FRAGMENTING)
    return rte_cpu_to_be_32(e->path_mtu);
  return 0;
}

/* The ICMP header and the `n` bytes behind it, which are summed up where they come from:
 * reading what was just written would wait for that. */
static void write_icmp(const struct icmp_error *e, const struct packet *about,
                       uint8_t *icmp, const uint8_t *quote, uint32_t n)
{
  uint32_t kind = rte_cpu_to_be_32((uint32_t)e->type << 24 | e->code << 16);
  uint32_t more = details(e, about);
  uint16_t checksum = pg_fold_not((uint64_t)kind + more + pg_sum_bytes(quote, n));
  ip4_write_word(icmp, kind);
  memcpy(icmp + 2, &checksum, sizeof checksum);
  ip4_write_word(icmp + 4, more);
  memcpy(icmp + ICMP_HEADER, quote, n);
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
  if (length < MINIMAL || length > to_end || !deserves(e, about, ip, length, to_end))
    return false;
  uint8_t *out = q->buf_addr + q->data_off;
  int32_t options = route_back(e, about, ip, length, out + MINIMAL);
  if (options < 0)
    return false;
  uint32_t headers = MINIMAL + options;
  if (e->mtu < headers + ICMP_HEADER)
    return false;
  uint32_t room = e->mtu - headers - ICMP_HEADER, quoted = to_end < room ? to_end : room;
  ip4_write(out, headers, VERSION << 28 | (headers + ICMP_HEADER + quoted),
            (uint32_t)e->id++ << 16, LIFE << 8 | ICMP, e->source, load32(ip + SOURCE));
  write_icmp(e, about, out + headers, ip, quoted);
  q->length = headers + ICMP_HEADER + quoted;
  annotate(e, q, headers, ip + SOURCE, now);
  return true;
}
