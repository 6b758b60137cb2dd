/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections that were let pass, in a table of flows: addresses, ports and protocol, the
 * same for both directions. A connection is forgotten once no packet of it was seen for a
 * time, or when the table is full and the others in it are newer.
 */
#include <netinet/in.h>

#include "connections.h"

#include "../../native/api.h"
#include "../../net/flow/find.h"
#include "../../net/wire/ports.h"
#include "../../net/wire/wire.h"

enum {
  V6 = 0x100, /* of a kind */
  EXPIRED_AT_ONCE = 4
};

/* The smaller end of both is `a`. */
static inline void order4(struct connection *c, uint64_t source, uint64_t destination)
{
  bool swap = destination < source;
  c->a[0] = swap ? destination : source;
  c->b[0] = swap ? source : destination;
  c->a[1] = c->b[1] = 0;
}

static inline void order6(struct connection *c, const uint8_t *source,
                          const uint8_t *destination, uint32_t ports)
{
  uint64_t s[2] = {load64(source), load64(source + 8)};
  uint64_t d[2] = {load64(destination), load64(destination + 8)};
  bool swap = s[0] != d[0] ? d[0] < s[0] : s[1] != d[1] ? d[1] < s[1]
                                          : ports >> 16 < (uint16_t)ports;
  for (int i = 0; i < 2; i++) {
    c->a[i] = swap ? d[i] : s[i];
    c->b[i] = swap ? s[i] : d[i];
  }
  c->kind |= swap ? ports >> 16 | ports << 16 : ports;
}

/* The connection of an Ethernet frame that carries IPv4 or IPv6; false if it doesn't
 * or is cut short. Ports are those of TCP and UDP, and 0 otherwise. */
bool pg_connection(const uint8_t *data, uint32_t length, struct connection *c)
{
  if (length < ETHERNET_HEADER + IP4_HEADER)
    return false;
  const uint8_t *ip = data + ETHERNET_HEADER, *end = data + length, *l4;
  uint32_t type = get16(data + MAC_ADDRESSES), protocol, ports = 0;
  bool fragment = false;
  if (type == TYPE_IP4) {
    l4 = ip + (ip[0] & 15) * 4;
    protocol = ip[9];
    fragment = ((ip[6] & 0x1f) | ip[7]) != 0;
    c->kind = (uint64_t)protocol << 32;
  } else if (type == TYPE_IP6 && length >= ETHERNET_HEADER + IP6_HEADER) {
    l4 = ip + IP6_HEADER;
    protocol = ip[6];
    c->kind = (uint64_t)(V6 | protocol) << 32;
  } else {
    return false;
  }
  if ((protocol == IPPROTO_TCP || protocol == IPPROTO_UDP) && !fragment) {
    if (end - l4 < PORTS_BYTES)
      return false;
    ports = load32(l4);
  }
  if (type == TYPE_IP4)
    order4(c, load32(ip + 12) | (uint64_t)(ports & 0xffff) << 32,
           load32(ip + 16) | (uint64_t)(ports >> 16) << 32);
  else
    order6(c, ip + 8, ip + 24, ports);
  return true;
}

static inline uint32_t hash_of(const struct connections *t, const struct connection *c)
{
  return flow_hash_of(t->table->index.secret, c, sizeof *c);
}

static inline bool is_over(const struct connections *t, uint32_t number)
{
  return flow_age_of(&t->table->records, number)->expiry <= t->now;
}

/* The number of a connection, which is as new again; 0: there is none. */
static inline uint32_t find(struct connections *t, const struct connection *c,
                            uint32_t hash)
{
  struct flow_table *table = t->table;
  uint32_t number = flow_find(&table->index, c, hash, sizeof *c);
  if (!number || is_over(t, number))
    return 0;
  flow_touch(&table->records, table->list, number, 0, t->now + table->list[0].timeout,
             t->now);
  return number;
}

/* Is the connection in the table? If so it is as new again. */
bool pg_connections_find(struct connections *t, const struct connection *c)
{
  return find(t, c, hash_of(t, c)) != 0;
}

/* Put the connection into the table. Those whose time is over go first. */
void pg_connections_add(struct connections *t, const struct connection *c)
{
  for (int i = 0; i < EXPIRED_AT_ONCE; i++) {
    uint32_t number = pg_flow_table_expired(t->table, t->now);
    if (!number)
      break;
    pg_flow_table_remove(t->table, number);
  }
  pg_flow_table_add(t->table, c, 0, t->now);
}

/* How many connections are in the table. */
uint32_t pg_connections_count(const struct connections *t)
{
  uint32_t count = 0, number = 0;
  while ((number = pg_flow_table_next(t->table, number)))
    count += !is_over(t, number);
  return count;
}

/* May the packet pass: is its connection in the table (1), or does the filter
 * accept it (1, and 2 if its connection is in the table since then)? */
int pg_filter_stateful(const struct filter *f, struct connections *t,
                       const uint8_t *data, uint32_t length)
{
  struct connection c;
  if (!pg_connection(data, length, &c))
    return pg_filter(f, data, length);
  if (find(t, &c, hash_of(t, &c)))
    return 1;
  if (!pg_filter(f, data, length))
    return 0;
  pg_connections_add(t, &c);
  return 2;
}
