/* SPDX-License-Identifier: Apache-2.0
 *
 * Which side of a conversation has sent a frame, its client or its server. A conversation
 * keeps its sides: those that its first frame shows.
 */
#include <netinet/in.h>
#include <string.h>

#include "../../net/ip/transport.h"
#include "../../net/wire/ports.h"
#include "../../net/wire/wire.h"
#include "sides.h"

enum { TCP_SYN_ACK = TCP_SYN | TCP_ACK_FLAG, SYN_BITS = TCP_SYN_ACK | TCP_RST };

/* A frame's two ends, and what tells who is the client. */
struct ends {
  struct sides_key key;
  bool from_low;             /* has the low one sent it? */
  uint16_t from_port, to_port;
  uint8_t flags;             /* of TCP */
};

static void order(struct ends *e, const uint8_t *from, const uint8_t *to, uint32_t n)
{
  int compared = memcmp(from, to, n);
  e->from_low = compared < 0 || (compared == 0 && e->from_port <= e->to_port);
  memcpy(e->key.low, e->from_low ? from : to, n);
  memcpy(e->key.high, e->from_low ? to : from, n);
  e->key.low_port = e->from_low ? e->from_port : e->to_port;
  e->key.high_port = e->from_low ? e->to_port : e->from_port;
}

static void ip_ends(struct ends *e, const uint8_t *frame, const struct transport *t)
{
  const uint8_t *ip = frame + t->ip, *l4 = frame + t->l4;
  if (has_hashed_ports(t->protocol) && t->offset == 0 && t->end >= t->l4 + 4) {
    e->from_port = get16(l4);
    e->to_port = get16(l4 + 2);
    e->key.protocol = t->protocol;
    if (t->protocol == IPPROTO_TCP && t->end >= t->l4 + TCP_HEADER)
      e->flags = l4[TCP_FLAGS];
  }
  e->key.version = t->version;
  if (t->version == 4)
    order(e, ip + IP4_ADDRESSES, ip + IP4_ADDRESSES + 4, 4);
  else
    order(e, ip + IP6_ADDRESSES, ip + IP6_ADDRESSES + 16, 16);
}

/* Has the client sent it, as far as it tells? -1: it doesn't. */
static int told(const struct sides *s, const struct ends *e)
{
  if (s->by == SIDES_SYN && e->flags & TCP_SYN)
    return (e->flags & SYN_BITS & TCP_SYN_ACK) == TCP_SYN;
  if (e->from_port != e->to_port)
    return e->from_port > e->to_port; /* the server has the lower one */
  return -1;
}

static uint64_t *value_of(const struct sides *s, uint32_t number)
{
  return (uint64_t *)(s->table->records.record + (uint64_t)number * s->table->records.size +
                      sizeof(struct sides_key));
}

/* Note who is the client of all between these two addresses. */
static void note_pair(struct sides *s, const struct ends *e, bool from_client)
{
  struct ends pair = {.key = e->key, .from_low = e->from_low};
  pair.key.low_port = pair.key.high_port = 0;
  pair.key.protocol = 0;
  uint32_t number = pg_flow_table_add(s->table, &pair.key, 0, 0);
  if (number)
    *value_of(s, number) = from_client != e->from_low;
}

static int side(bool client) { return client ? SIDE_CLIENT : SIDE_SERVER; }

/* By what is known of the conversation, or else by this frame. */
static int by_conversation(struct sides *s, const struct ends *e)
{
  uint32_t number = pg_flow_table_find(s->table, &e->key);
  int tells = told(s, e);
  bool fresh = s->by == SIDES_SYN && (e->flags & SYN_BITS) == TCP_SYN;
  if (number && !fresh)
    return side((*value_of(s, number) == 0) == e->from_low);
  bool client = tells != 0;
  number = pg_flow_table_add(s->table, &e->key, 0, 0);
  if (number)
    *value_of(s, number) = client != e->from_low;
  if (e->key.protocol)
    note_pair(s, e, client);
  return side(client);
}

static bool is_server(const struct sides *s, const uint8_t *address, uint8_t version)
{
  for (uint32_t i = 0; i < s->count; i++)
    if (s->server[i].version == version &&
        in_prefix(address, s->server[i].address, s->server[i].length))
      return true;
  return false;
}

/* Without IP: as by the Ethernet address was sent before. */
static int by_station(struct sides *s, const uint8_t *frame, int known)
{
  struct sides_key key = {0};
  memcpy(key.low, frame + 6, 6);
  uint32_t number = known ? pg_flow_table_add(s->table, &key, 0, 0)
                          : pg_flow_table_find(s->table, &key);
  if (known && number)
    *value_of(s, number) = known;
  return known ? known : number ? (int)*value_of(s, number) : SIDE_CLIENT;
}

/* SIDE_CLIENT or SIDE_SERVER: who has sent the frame. */
int pg_side(struct sides *s, const uint8_t *frame, uint32_t n)
{
  struct transport t;
  if (n < ETHERNET_HEADER)
    return SIDE_CLIENT;
  if (s->by == SIDES_MAC)
    return side(!is_server(s, frame + 6, 0));
  if (!pg_transport(&t, frame, n))
    return by_station(s, frame, 0);
  if (s->by == SIDES_IP) {
    uint32_t source = t.ip + (t.version == 4 ? IP4_ADDRESSES : IP6_ADDRESSES);
    return by_station(s, frame, side(!is_server(s, frame + source, t.version)));
  }
  struct ends e = {0};
  ip_ends(&e, frame, &t);
  return by_station(s, frame, by_conversation(s, &e));
}
