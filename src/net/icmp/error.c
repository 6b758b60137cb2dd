/* SPDX-License-Identifier: Apache-2.0
 *
 * ICMP errors about IPv4 packets (RFC 792; RFC 1122, section 3.2.2; RFC 1812, section
 * 4.3.2) and IPv6 packets (RFC 4443, section 2.4): which packets get one, and how they
 * are written. In C, as they are rare: their loops would cost LuaJIT the loop around them.
 */
#include "icmp.h"

#include "../ip/ip4_write.h"
#include "types.h"

enum { HOPS = 255 };
enum { LAST_ERROR6 = 127, REDIRECT6 = 137, IP6_VERSION = 0x60 };
enum { TOO_BIG6 = 2, PARAMETER_PROBLEM6 = 4, UNKNOWN_OPTION6 = 2 };
enum { THIS_NETWORK = 0, LOOPBACK = 127, FIRST_GROUP = 224, GROUP6 = 0xff };

/* Does the packet with this IPv4 header, which is whole, and so many bytes from it on
 * get an error? Not what is one, is for a group, follows a first fragment or comes from
 * nobody in particular: this network, this host, a group, class E. */
bool pg_icmp4_deserves(const uint8_t *ip, uint32_t available)
{
  uint32_t length = (ip[0] & 15) * 4;
  const uint8_t *source = ip + IP4_ADDRESSES, *destination = source + 4;
  if (ip[IP4_PROTOCOL] == IPPROTO_ICMP &&
      (available < length + 4 || icmp4_is_error(ip[length])))
    return false;
  return (get16(ip + IP4_FRAGMENT) & IP4_OFFSET) == 0
    && (destination[0] & 0xf0) != FIRST_GROUP && load32(destination) != UINT32_MAX
    && source[0] != THIS_NETWORK && source[0] != LOOPBACK && source[0] < FIRST_GROUP;
}

/* The same of an IPv6 header, for an error of this type and code: those that say that a
 * packet is too big, or of an option that nobody knows, may be about one for a group. */
bool pg_icmp6_deserves(const uint8_t *ip6, uint32_t available, uint32_t type,
                       uint32_t code)
{
  const uint8_t *source = ip6 + IP6_ADDRESSES, *destination = source + 16;
  static const uint8_t nobody[16];
  if (ip6[IP6_NEXT] == IPPROTO_ICMPV6) {
    uint8_t about = available > IP6_HEADER ? ip6[IP6_HEADER] : 0;
    if (about <= LAST_ERROR6 || about == REDIRECT6)
      return false;
  }
  bool to_groups = type == TOO_BIG6
    || (type == PARAMETER_PROBLEM6 && code == UNKNOWN_OPTION6);
  return (destination[0] != GROUP6 || to_groups) && source[0] != GROUP6
    && memcmp(source, nobody, sizeof nobody) != 0;
}

/* The ICMP header and the `n` bytes quoted, behind `options` bytes that are there. The
 * quote is summed up where it comes from: reading what was just written would wait. */
static void write_icmp(uint8_t *icmp, const struct icmp_kind *kind, uint32_t options,
                       const uint8_t *quote, uint32_t n, uint64_t pseudo)
{
  uint32_t first = rte_cpu_to_be_32((uint32_t)kind->type << 24 |
                                    (uint32_t)kind->code << 16);
  uint32_t second = rte_cpu_to_be_32(kind->word);
  ip4_write_word(icmp + 4, second);
  store16(icmp + 2, pg_fold_not(pseudo + first + second + pg_sum_bytes(quote, n) +
                                pg_sum_words(icmp + ICMP_HEADER, options)));
  icmp[0] = kind->type;
  icmp[1] = kind->code;
  memcpy(icmp + ICMP_HEADER + options, quote, n);
}

/* Write an IPv4 header of `header` bytes, whose options are there, and the error, to the
 * address at `to` from `source` (in network order), about the `n` bytes at `quote`. */
void pg_icmp4_error(uint8_t *out, uint32_t header, uint32_t id, uint32_t ttl,
                    uint32_t source, const uint8_t *to, const struct icmp_kind *kind,
                    const uint8_t *quote, uint32_t n)
{
  ip4_write(out, header, 4u << 28 | (header + ICMP_HEADER + n), id << 16,
            ttl << 8 | IPPROTO_ICMP, source, load32(to));
  write_icmp(out + header, kind, 0, quote, n, 0);
}

/* The same over IPv6, between the addresses at `source` and `to`; of the message's own,
 * `options` bytes (a multiple of 4) behind its header are there. */
void pg_icmp6_error(uint8_t *out, const uint8_t *source, const uint8_t *to,
                    const struct icmp_kind *kind, uint32_t options,
                    const uint8_t *quote, uint32_t n)
{
  uint32_t size = ICMP_HEADER + options + n;
  put32(out, (uint32_t)IP6_VERSION << 24);
  put32(out + IP6_LENGTH, size << 16 | (uint32_t)IPPROTO_ICMPV6 << 8 | HOPS);
  memcpy(out + IP6_ADDRESSES, source, 16);
  memcpy(out + IP6_ADDRESSES + 16, to, 16);
  uint64_t pseudo = pg_sum_bytes(source, 16) + pg_sum_bytes(to, 16) +
    pg_from_host(size + IPPROTO_ICMPV6);
  write_icmp(out + IP6_HEADER, kind, options, quote, n, pseudo);
}
