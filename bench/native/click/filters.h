/* SPDX-License-Identifier: Apache-2.0
 *
 * IPFilter and IPClassifier.
 */
#pragma once

#include <rte_acl.h>
#include <rte_udp.h>

#include "interfaces.h"

enum { MOST_RULES = 1000, PROTOCOL = 0, SOURCE, FROM, TO, FIELDS };
enum { ALLOW = 1, DENY };

RTE_ACL_RULE_DEF(rule, FIELDS);

static struct rte_acl_ctx *rules;

/* What rules are about, of a packet: rte_acl takes 4 bytes at a time but for the first,
 * and ports in network order. */
struct about { uint8_t protocol, unused[3]; uint32_t source; uint16_t from, to; };

static uint32_t verdicts[MAX_BURST]; /* of the burst's packets */
static uint16_t next_verdict;

/* Few rules are quicker to try one after the other. */
enum { FEW_RULES = 16 };

static struct { uint32_t net; uint16_t port; } few[FEW_RULES];
static int nfew; /* but for the last, which lets packets pass */

static bool allowed(const struct rte_ipv4_hdr *h)
{
  const struct rte_udp_hdr *udp = (const void *)((const char *)h + header_length(h));
  uint32_t net = rte_be_to_cpu_32(h->src_addr) & ~255U;
  uint16_t port = rte_be_to_cpu_16(udp->dst_port);
  for (int i = 0; i < nfew; i++)
    if (net == few[i].net && port == few[i].port)
      return false;
  return h->next_proto_id == 17;
}

/* Judge a burst by rte_acl; unsound packets are denied. */
static void judge(struct rte_mbuf **packets, uint16_t n)
{
  if (nfew)
    return;
  static struct about about[MAX_BURST];
  static const uint8_t *keys[MAX_BURST];
  for (uint16_t i = 0; i < n; i++) {
    keys[i] = (void *)&about[i];
    if (!sound(packets[i], false)) {
      about[i] = (struct about){0};
      continue;
    }
    const struct rte_ipv4_hdr *h = ip_of(packets[i]);
    const struct rte_udp_hdr *udp = (const void *)((const char *)h + header_length(h));
    about[i] = (struct about){h->next_proto_id, {0}, h->src_addr, udp->src_port,
                              udp->dst_port};
  }
  check(rte_acl_classify(rules, keys, verdicts, n, 1) == 0, "judging");
  next_verdict = 0;
}

static void do_firewall(struct rte_mbuf *m)
{
  bool passes = nfew ? sound(m, false) && allowed(ip_of(m))
                     : verdicts[next_verdict++] == ALLOW;
  if (passes)
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

static const struct rte_acl_field any_port = {.value.u16 = 0, .mask_range.u16 = 65535};

static void add_rule(int priority, uint32_t verdict, struct rte_acl_field protocol,
                     struct rte_acl_field source, struct rte_acl_field port)
{
  struct rule rule = {
    .data = {.category_mask = 1, .priority = priority, .userdata = verdict},
    .field = {[PROTOCOL] = protocol, [SOURCE] = source, [FROM] = any_port, [TO] = port}};
  check(rte_acl_add_rules(rules, (void *)&rule, 1) == 0, "adding a rule");
}

static uint32_t verdict_of(uint8_t protocol, uint32_t source, uint16_t port)
{
  struct about about = {protocol, {0}, rte_cpu_to_be_32(source), 53, rte_cpu_to_be_16(port)};
  const uint8_t *key = (void *)&about;
  uint32_t verdict;
  check(rte_acl_classify(rules, &key, &verdict, 1, 1) == 0, "judging");
  return verdict;
}

/* So many rules, of which all but the last stop some packets, and that lets UDP pass. */
static void make_rules(int n)
{
  static const struct rte_acl_field any = {0};
  struct rte_acl_param parameters = {
    .name = "rules", .socket_id = SOCKET_ID_ANY, .max_rule_num = MOST_RULES,
    .rule_size = RTE_ACL_RULE_SZ(FIELDS)};
  struct rte_acl_config config = {
    .num_categories = 1, .num_fields = FIELDS,
    .defs = {
      {RTE_ACL_FIELD_TYPE_BITMASK, 1, PROTOCOL, 0, offsetof(struct about, protocol)},
      {RTE_ACL_FIELD_TYPE_MASK, 4, SOURCE, 1, offsetof(struct about, source)},
      {RTE_ACL_FIELD_TYPE_RANGE, 2, FROM, 2, offsetof(struct about, from)},
      {RTE_ACL_FIELD_TYPE_RANGE, 2, TO, 2, offsetof(struct about, to)}}};
  check(n > 1 && n <= MOST_RULES, "reading the number of rules");
  rules = rte_acl_create(&parameters);
  check(rules, "making rules");
  nfew = n <= FEW_RULES ? n - 1 : 0;
  for (int i = 0; i < n - 1; i++) {
    uint16_t port = 1000 + i;
    if (i < nfew)
      few[i].net = NET(172, 16, i % 256, 0), few[i].port = port;
    add_rule(n - i, DENY, any,
             (struct rte_acl_field){.value.u32 = NET(172, 16, i % 256, 0),
                                    .mask_range.u32 = 24},
             (struct rte_acl_field){.value.u16 = port, .mask_range.u16 = port});
  }
  add_rule(1, ALLOW, (struct rte_acl_field){.value.u8 = 17, .mask_range.u8 = 255}, any,
           any_port);
  check(rte_acl_build(rules, &config) == 0, "compiling the rules");
  check(verdict_of(17, NET(172, 16, 0, 9), 1000) == DENY &&
          verdict_of(6, NET(172, 16, 0, 9), 1000) == DENY &&
          verdict_of(17, NET(172, 16, 1, 9), 1000) == ALLOW &&
          verdict_of(17, NET(172, 16, 0, 9), 53) == ALLOW &&
          verdict_of(6, NET(10, 0, 0, 1), 53) == 0, "judging as the rules say");
}
