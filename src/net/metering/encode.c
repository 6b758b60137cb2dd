/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of flows as others read them: a line of JSON, or a data record of IPFIX
 * (RFC 7011, section 3.4.3) whose template is in apps/record/collector.lua.
 */
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>

#include "../../native/api.h"
#include "../address/text.h"
#include "../wire/wire.h"
#include "metering.h"

enum { NS = 1000000000, NS_PER_MS = 1000000 };

/* JSON ------------------------------------------------------------------------------- */

struct text { char *at; uint32_t used, room; };

static void add(struct text *t, const char *format, ...)
  __attribute__((format(printf, 2, 3)));

static void add(struct text *t, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(t->at + t->used, t->room - t->used, format, arguments);
  va_end(arguments);
  t->used = n < 0 || t->used + n >= t->room ? t->room - 1 : t->used + n;
}

static void add_time(struct text *t, const char *name, uint64_t ns)
{
  add(t, "\"%s\":%llu.%09llu,", name, (unsigned long long)(ns / NS),
      (unsigned long long)(ns % NS));
}

static void add_address(struct text *t, const char *name, const struct meter_key *key,
                        const uint8_t *address)
{
  char text[IP_TEXT];
  (key->version == 4 ? pg_ip4_text : pg_ip6_text)(address, text);
  add(t, "\"%s\":\"%s\",", name, text);
}

static void add_ends(struct text *t, const struct meter_key *key)
{
  add_address(t, "source", key, key->source);
  add_address(t, "destination", key, key->destination);
  add(t, "\"protocol\":%u,", key->protocol);
  if (key->protocol == IPPROTO_ICMP || key->protocol == IPPROTO_ICMPV6)
    add(t, "\"icmp_type\":%u,\"icmp_code\":%u,", key->destination_port >> 8,
        key->destination_port & 255);
  else
    add(t, "\"source_port\":%u,\"destination_port\":%u,", key->source_port,
        key->destination_port);
  if (key->vlan)
    add(t, "\"vlan\":%u,", key->vlan);
  if (key->inner_vlan)
    add(t, "\"inner_vlan\":%u,", key->inner_vlan);
}

/* By their letters, from the highest bit on: CWR, ECE, URG, ACK, PSH, RST, SYN, FIN. */
static void add_flags(struct text *t, uint8_t flags)
{
  add(t, "\"tcp_flags\":\"");
  for (int i = 0; i < 8; i++)
    if (flags & 0x80 >> i)
      add(t, "%c", "CEUAPRSF"[i]);
  add(t, "\",");
}

/* The record as an object of JSON and a newline: its bytes. `port` is a text in quotes,
 * as JSON has it; METER_LINE_MOST and its bytes are room enough. */
uint32_t pg_meter_line(const struct meter_ended *e, const char *port, char *at,
                       uint32_t room)
{
  static const char *const reasons[METER_REASONS] = {
    [METER_IDLE] = "idle", [METER_ACTIVE] = "active", [METER_FINISHED] = "finished",
    [METER_FLUSHED] = "flushed", [METER_EVICTED] = "evicted"};
  struct text t = {at, 0, room};
  add(&t, "{");
  add_time(&t, "first", e->value.first);
  add_time(&t, "last", e->value.last);
  add(&t, "\"port\":%s,", port);
  add_ends(&t, &e->key);
  add(&t, "\"packets\":%llu,\"bytes\":%llu,", (unsigned long long)e->value.packets,
      (unsigned long long)e->value.octets);
  if (e->key.protocol == IPPROTO_TCP)
    add_flags(&t, e->value.tcp_flags);
  add(&t, "\"end\":\"%s\"}\n", reasons[e->reason]);
  return t.used;
}

/* IPFIX ------------------------------------------------------------------------------ */

/* The data record by the template of its version of IP; its bytes. */
uint32_t pg_meter_ipfix(const struct meter_ended *e, uint8_t *at)
{
  const struct meter_key *key = &e->key;
  uint32_t address = key->version == 4 ? 4 : 16;
  uint8_t *p = at;
  memcpy(p, key->source, address);
  memcpy(p + address, key->destination, address);
  p += 2 * address;
  put16(p, key->source_port);
  put16(p + 2, key->destination_port);
  p[4] = key->protocol;
  p[5] = key->version;
  p[6] = e->value.tcp_flags;
  p[7] = e->reason;
  put32(p + 8, key->input + 1u);
  put16(p + 12, key->vlan);
  put16(p + 14, key->vlan);
  put16(p + 16, key->inner_vlan);
  put64(p + 18, e->value.packets);
  put64(p + 26, e->value.octets);
  put64(p + 34, e->value.first / NS_PER_MS);
  put64(p + 42, e->value.last / NS_PER_MS);
  return (uint32_t)(p + 50 - at);
}
