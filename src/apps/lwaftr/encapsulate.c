/* SPDX-License-Identifier: Apache-2.0
 *
 * From the internet to the B4s: IPv4 in IPv6 (RFC 7596, section 6.2; RFC 2473).
 */
#include "../../net/checksum/sum.h"
#include "tunnel.h"

/* The port by which an ICMP message from the internet finds its softwire, or what is
 * wrong with it, negated. An echo request is for port 0: it reaches only who has the
 * whole address, or its first ports (RFC 7596, section 8.1). */
static int32_t icmp_port(const struct lwaftr_path *path, const uint8_t *ip,
                         uint32_t header)
{
  const uint8_t *icmp = ip + header;
  uint32_t n = get16(ip + 2) - header;
  if (!path->allow_icmp4)
    return -PATH_ICMP_POLICY;
  if (pg_fold_not(pg_sum_bytes(icmp, n)) != 0)
    return -PATH_BAD_CHECKSUM; /* RFC 5508, REQ-3 */
  if (n < ICMP_HEADER)
    return -PATH_NO_SOFTWIRE;
  if (icmp[0] == ECHO_REQUEST)
    return 0;
  int32_t port = icmp[0] == ECHO_REPLY ? (int32_t)get16(icmp + 4)
                                       : embedded_port(icmp, n);
  return port < 0 ? -PATH_NO_SOFTWIRE : port; /* no more than that is known */
}

/* The port a packet is for, or what is wrong with it, negated. */
static int32_t port_of(const struct lwaftr_path *path, const struct packet *p)
{
  const uint8_t *ip = data_of(p) + ETHERNET_HEADER;
  uint32_t n = p->length < ETHERNET_HEADER ? 0 : (uint32_t)p->length - ETHERNET_HEADER;
  uint32_t header = ip4_header(ip, n);
  if (header == 0)
    return -PATH_INVALID;
  if (ip[9] == IPPROTO_ICMP)
    return icmp_port(path, ip, header);
  if (get16(ip + IP4_FRAGMENT) & IP4_PART)
    return -PATH_FRAGMENT;
  if (n < header + PORTS_BYTES)
    return -PATH_INVALID;
  return (int32_t)get16(ip + header + 2);
}

static int encapsulate(const struct lwaftr_path *path, struct packet *p,
                       const struct softwire_ends *ends)
{
  uint8_t *ip = data_of(p) + ETHERNET_HEADER;
  uint32_t n = (uint32_t)p->length - ETHERNET_HEADER;
  if (p->length + IP6_HEADER > PACKET_MAX_PAYLOAD)
    return PATH_INVALID;
  if (ip[8] > 0)
    count_down(ip);
  if (ip[8] == 0)
    return PATH_EXPIRED;
  if (n + IP6_HEADER > path->mtu && get16(ip + IP4_FRAGMENT) & IP4_DONT_FRAGMENT)
    return PATH_TOO_BIG;
  uint32_t tos = ip[1];
  write_tunnel(path, open_room(p), tos, n, ends);
  return PATH_DONE;
}

/* Packets from the internet, or hairpinned ones, on their way to B4s; returns how many of
 * them aren't done. */
int pg_lwaftr_encapsulate(struct lwaftr_path *path, struct packet **packets, int n,
                          uint8_t *results, bool hairpinned)
{
  struct lookup lookups[PATH_BURST];
  struct softwire_ends ends[PATH_BURST];
  bool found[PATH_BURST];
  uint8_t at[PATH_BURST];
  int wanted = 0;
  struct lwaftr_sum in = {0}, out = {0};
  for (int i = 0; i < n; i++) {
    struct packet *p = packets[i];
    const uint8_t *frame = data_of(p);
    fetch_header(packets, i, n);
    if (!hairpinned && (p->length < ETHERNET_HEADER || get16(frame + 12) != TYPE_IP4)) {
      results[i] = PATH_MISPLACED;
      continue;
    }
    add_to(&in, p);
    int32_t port = port_of(path, p);
    results[i] = port < 0 ? (uint8_t)-port : PATH_NO_SOFTWIRE;
    if (port >= 0) {
      lookups[wanted] = (struct lookup){get32(frame + ETHERNET_HEADER + 16),
                                        (uint16_t)port};
      at[wanted++] = (uint8_t)i;
    }
  }
  find_ends(path, lookups, wanted, ends, found);
  for (int k = 0; k < wanted; k++) {
    int i = at[k];
    if (!found[k])
      continue;
    results[i] = (uint8_t)encapsulate(path, packets[i], &ends[k]);
    if (results[i] == PATH_DONE)
      add_to(&out, packets[i]);
  }
  path->in = in;
  path->out = out;
  return n - (int)out.packets;
}
