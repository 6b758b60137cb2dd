/* SPDX-License-Identifier: Apache-2.0
 *
 * Which queue a packet is for, as the filters of cards choose it, in software. Plain
 * declarations: LuaJIT reads this file (core.declare).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet;

enum pg_rule_kind {
  PG_RULE_ETHERTYPE,         /* what: the type behind up to two VLAN tags */
  PG_RULE_FIVE_TUPLE,        /* of IPv4 */
  PG_RULE_PTP                /* what: the first two bytes of UDP's payload over IPv4 */
};

/* Numbers are in host order, and a mask of 0 takes anything. */
struct pg_rule {
  int32_t kind, queue, priority;
  uint32_t what;
  uint32_t src_ip, src_ip_mask, dst_ip, dst_ip_mask;
  uint16_t src_port, src_port_mask, dst_port, dst_port_mask;
  uint8_t proto, proto_mask;
};

/* Of a device; the first that holds counts. */
enum { PG_RULES_MOST = 64 };
struct pg_rules {
  int32_t n;
  struct pg_rule list[64];
};

bool pg_rules_add(struct pg_rules *rules, const struct pg_rule *rule);
const struct pg_rule *pg_rules_find(const struct pg_rules *rules, const struct packet *p);
