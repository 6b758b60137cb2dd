/* SPDX-License-Identifier: Apache-2.0
 *
 * IPFilter and IPClassifier.
 */
#pragma once

#include <rte_udp.h>

#include "interfaces.h"

enum { MOST_RULES = 1000 };

static struct rule { uint32_t net; uint16_t port; } rules[MOST_RULES];
static int nrules; /* but for the last, which lets packets pass */

static bool allowed(const struct rte_ipv4_hdr *h)
{
  const struct rte_udp_hdr *udp = (const void *)((const char *)h + header_length(h));
  uint32_t source = rte_be_to_cpu_32(h->src_addr);
  uint16_t port = rte_be_to_cpu_16(udp->dst_port);
  for (int i = 0; i < nrules; i++)
    if ((source & ~255U) == rules[i].net && port == rules[i].port)
      return false;
  return h->next_proto_id == 17;
}

static void do_firewall(struct rte_mbuf *m)
{
  if (sound(m, false) && allowed(ip_of(m)))
    put(&outs[0], m);
  else
    rte_pktmbuf_free(m);
}

static void do_classifier(struct rte_mbuf *m)
{
  if (!sound(m, false)) {
    rte_pktmbuf_free(m);
    return;
  }
  const struct rte_ipv4_hdr *h = ip_of(m);
  const struct rte_udp_hdr *udp = (const void *)((const char *)h + header_length(h));
  bool first = !(h->fragment_offset & rte_cpu_to_be_16(0x1fff));
  uint8_t protocol = h->next_proto_id;
  if (protocol == 6 && first && udp->dst_port == rte_cpu_to_be_16(80))
    put(&outs[0], m);
  else if (protocol == 17 && first && udp->dst_port == rte_cpu_to_be_16(53))
    put(&outs[1], m);
  else if (protocol == 1)
    put(&outs[2], m);
  else
    put(&outs[3], m);
}

/* So many rules, of which all but the last stop some packets. */
static void make_rules(int n)
{
  nrules = n - 1;
  check(nrules > 0 && nrules < MOST_RULES, "reading the number of rules");
  for (int i = 0; i < nrules; i++)
    rules[i] = (struct rule){NET(172, 16, i % 256, 0), 1000 + i};
}
