/* SPDX-License-Identifier: Apache-2.0
 *
 * From the B4s to the internet: IPv4 out of IPv6 (RFC 7596, section 6.2). A packet must
 * come through the tunnel of the softwire whose address and port it has.
 */
#include "tunnel.h"

/* The port of the B4 that sent a packet, or -PATH_INVALID. That of an ICMP message is its
 * identifier if it is an echo request, and 0 if it is a reply (RFC 7596, section 8.1). */
static int32_t source_port(const uint8_t *ip, uint32_t n)
{
  uint32_t header = ip4_header(ip, n);
  if (header == 0)
    return -PATH_INVALID;
  const uint8_t *next = ip + header;
  n -= header;
  if (ip[9] != IPPROTO_ICMP)
    return n < PORTS_BYTES ? -PATH_INVALID : (int32_t)get16(next);
  if (n < ICMP_HEADER)
    return -PATH_INVALID;
  if (next[0] == ECHO_REPLY)
    return 0;
  int32_t port = next[0] == ECHO_REQUEST ? (int32_t)get16(next + 4)
                                         : embedded_port(next, n);
  return port < 0 ? -PATH_INVALID : port;
}

static int32_t check(const struct lwaftr_path *path, const struct packet *p)
{
  const uint8_t *ip6 = data_of(p) + ETHERNET_HEADER;
  uint32_t n = (uint32_t)p->length - ETHERNET_HEADER;
  if (n < IP6_HEADER)
    return -PATH_INVALID;
  switch (ip6[6]) {
  case IPPROTO_IPIP: return source_port(ip6 + IP6_HEADER, n - IP6_HEADER);
  case IPPROTO_FRAGMENT: return -PATH_FRAGMENT;
  case IPPROTO_ICMPV6: return path->allow_icmp6 ? -PATH_ICMP6 : -PATH_ICMP_POLICY;
  default: return -PATH_UNKNOWN_PROTOCOL;
  }
}

/* Packets from B4s; returns how many of them aren't done. */
int pg_lwaftr_decapsulate(struct lwaftr_path *path, struct packet **packets, int n,
                          uint8_t *results)
{
  struct lookup lookups[PATH_BURST];
  struct softwire_ends ends[PATH_BURST];
  bool found[PATH_BURST];
  uint8_t at[PATH_BURST];
  int wanted = 0;
  struct lwaftr_sum in = {0}, out = {0}, hairpin = {0};
  for (int i = 0; i < n; i++) {
    const struct packet *p = packets[i];
    const uint8_t *frame = data_of(p);
    fetch_header(packets, i, n);
    if (p->length < ETHERNET_HEADER || get16(frame + 12) != TYPE_IP6) {
      results[i] = PATH_MISPLACED;
      continue;
    }
    add_to(&in, p);
    int32_t port = check(path, p);
    results[i] = port < 0 ? (uint8_t)-port : PATH_NO_SOFTWIRE;
    if (port >= 0) {
      lookups[wanted] = (struct lookup){get32(frame + ETHERNET_HEADER + IP6_HEADER + 12),
                                        (uint16_t)port};
      at[wanted++] = (uint8_t)i;
    }
  }
  find_ends(path, lookups, wanted, ends, found);
  for (int k = 0; k < wanted; k++) {
    struct packet *p = packets[at[k]];
    uint8_t *result = &results[at[k]];
    if (!found[k])
      continue;
    if (!is_from(data_of(p) + ETHERNET_HEADER, &ends[k])) {
      *result = PATH_OTHER_ENDS;
      continue;
    }
    leave_tunnel(path, p);
    bool turns = path->hairpinning &&
      pg_lwaftr_is_managed(path, get32(data_of(p) + ETHERNET_HEADER + 16));
    *result = turns ? PATH_HAIRPIN : PATH_DONE;
    add_to(turns ? &hairpin : &out, p);
  }
  path->in = in;
  path->out = out;
  path->hairpin = hairpin;
  return n - (int)out.packets;
}

/* The border router's address of the softwire that an encapsulated packet's IPv4 address
 * and port are of; false if there is none. */
bool pg_lwaftr_br(struct lwaftr_path *path, const struct packet *p, uint8_t *br)
{
  const uint8_t *ip = data_of(p) + ETHERNET_HEADER + IP6_HEADER;
  if (p->length < ETHERNET_HEADER + IP6_HEADER)
    return false;
  int32_t port = source_port(ip, (uint32_t)p->length - ETHERNET_HEADER - IP6_HEADER);
  struct softwire_ends ends;
  if (port < 0)
    return false;
  bool found = pg_softwires_find(binding_enter(path), get32(ip + 12), (uint16_t)port,
                                 &ends);
  binding_leave(path);
  if (found)
    memcpy(br, ends.br, sizeof ends.br);
  return found;
}

/* Are packets to this address for softwires? */
bool pg_lwaftr_is_managed(struct lwaftr_path *path, uint32_t ipv4)
{
  bool managed = pg_softwires_is_managed(binding_enter(path), ipv4);
  binding_leave(path);
  return managed;
}
