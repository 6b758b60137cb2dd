/* SPDX-License-Identifier: Apache-2.0
 *
 * Checksums written into the headers of packets, none of which is believed: a
 * header that isn't there, or not what it should be, leaves a packet as it is.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_common.h>

#include "../../native/api.h"
#include "../wire/wire.h"
#include "checksum.h"
#include "fill_both.h"
#include "sum.h"

/* Set the checksum of the IPv4 header at offset `l3` (RFC 791, section 3.1);
 * whether there is one. */
bool pg_fill_ip4(struct packet *p, uint32_t l3)
{
  if (p->length < (uint64_t)l3 + IP4_HEADER)
    return false;
  uint8_t *ip = packet_at(p, l3);
  uint32_t length = (ip[0] & 15) * 4;
  if (ip[0] >> 4 != 4 || length < IP4_HEADER || p->length < l3 + length)
    return false;
  store16(ip + IP4_CHECKSUM, 0);
  store16(ip + IP4_CHECKSUM, pg_fold_not(pg_sum_words(ip, length)));
  return true;
}

/* Bytes from offset `l4` to the end of the IP packet at `l3`, or of `p` if that
 * is less or IP's length is 0 (a jumbogram or one to be segmented); -1 if `l4`
 * lies outside. Padding of Ethernet isn't counted. */
static int64_t bytes_from(const struct packet *p, uint32_t l3, uint32_t l4,
                          bool ip4)
{
  const uint8_t *ip = packet_at(p, l3);
  uint32_t end = ip4 ? get16(ip + IP4_LENGTH) : get16(ip + IP6_LENGTH);
  if (end > 0 && !ip4)
    end += IP6_HEADER;
  end = end > 0 ? RTE_MIN(l3 + end, p->length) : p->length;
  return (int64_t)end - l4;
}

/* The layer 4 header that a checksum is wanted for. */
struct target {
  uint8_t *header, *checksum;
  uint32_t bytes;
  uint64_t pseudo;
};

static bool find(struct target *t, const struct packet *p, uint32_t l3,
                 uint32_t l4, uint32_t protocol)
{
  uint32_t sum = pg_checksum_at(protocol);
  if (!sum || p->length < (uint64_t)l3 + IP4_HEADER)
    return false;
  uint8_t *ip = packet_at(p, l3);
  bool ip4 = ip[0] >> 4 == 4;
  uint32_t header = ip4 ? IP4_HEADER : IP6_HEADER;
  if ((!ip4 && ip[0] >> 4 != 6) || l4 < l3 + header || p->length < l4)
    return false;
  int64_t bytes = bytes_from(p, l3, l4, ip4);
  if (bytes < shortest_l4(protocol))
    return false;
  *t = (struct target){packet_at(p, l4), packet_at(p, l4) + sum, bytes, 0};
  if (protocol != IPPROTO_ICMP)
    t->pseudo = ip4 ? pg_pseudo(ip + IP4_ADDRESSES, 8, protocol, bytes)
                    : pg_pseudo(ip + IP6_ADDRESSES, 32, protocol, bytes);
  return true;
}

/* Set the checksum of the `protocol` (IANA's number: TCP, UDP, ICMP, ICMPv6)
 * whose header is at offset `l4`, over IPv4 or IPv6 at `l3`; whether they are
 * there. */
bool pg_fill_l4(struct packet *p, uint32_t l3, uint32_t l4, uint32_t protocol)
{
  struct target t;
  if (!find(&t, p, l3, l4, protocol))
    return false;
  store16(t.checksum, 0);
  uint16_t sum = pg_fold_not(t.pseudo + pg_sum_bytes(t.header, t.bytes));
  store16(t.checksum, pg_sum_to_send(protocol, sum));
  return true;
}

/* Set both checksums of UDP or TCP over an IPv4 header without options, in one pass;
 * false, and nothing done, if the packet isn't of that kind, or shorter than it says. */
bool pg_fill_both(struct packet *p, uint32_t l3, uint32_t protocol)
{
  if (protocol == IPPROTO_UDP)
    return fill_both(p, l3, IPPROTO_UDP);
  return protocol == IPPROTO_TCP && fill_both(p, l3, IPPROTO_TCP);
}

/* Set it to the sum over the pseudo header alone, as devices want it. */
bool pg_fill_pseudo(struct packet *p, uint32_t l3, uint32_t l4, uint32_t protocol)
{
  struct target t;
  if (!find(&t, p, l3, l4, protocol))
    return false;
  store16(t.checksum, ~pg_fold_not(t.pseudo));
  return true;
}

/* Set the checksums of the IPv4 headers at offset `l3` of `n` packets; in how
 * many there was one. */
int pg_checksum_ip4(struct packet **packets, int n, uint32_t l3)
{
  int done = 0;
  for (int i = 0; i < n; i++)
    done += pg_fill_ip4(packets[i], l3);
  return done;
}

/* Set the checksums of `protocol` at offset `l4` of `n` packets, over IPv4 or IPv6
 * at `l3`; in how many there was one. */
int pg_checksum_l4(struct packet **packets, int n, uint32_t l3, uint32_t l4,
                   uint32_t protocol)
{
  int done = 0;
  for (int i = 0; i < n; i++)
    done += pg_fill_l4(packets[i], l3, l4, protocol);
  return done;
}
