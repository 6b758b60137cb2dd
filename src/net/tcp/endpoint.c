/* SPDX-License-Identifier: Apache-2.0
 *
 * An endpoint: its connections begin and end here, and are counted.
 */
#include <stdlib.h>
#include <string.h>

#include "../flow/flow.h"
#include "internal.h"

enum { TRIES = 64 }; /* tuples that are looked at for a new connection */

static struct flow_table *table_of(uint32_t limit, uint64_t seed)
{
  return pg_flow_table_new(sizeof(struct tcp_connection), sizeof(struct tcp_key),
                           FLOW_NO_AGE, limit, FLOW_REFUSE, seed);
}

/* An endpoint for up to `limit` records; NULL: there is no memory. Its settings are to be
 * filled in. `seed`: of its hash and its sequence numbers; 0: random. */
struct tcp_endpoint *pg_tcp_new(uint32_t limit, uint64_t seed, uint64_t now)
{
  struct tcp_endpoint *e = calloc(1, sizeof *e);
  if (!e)
    return NULL;
  e->table = table_of(limit, seed);
  if (!e->table) {
    free(e);
    return NULL;
  }
  e->now = now;
  e->wheel.tick = tick_of(now);
  return e;
}

void pg_tcp_free(struct tcp_endpoint *e)
{
  pg_flow_table_free(e->table);
  free(e);
}

/* The number of the address in the range, or -1. */
int64_t pg_tcp_index(const struct tcp_addresses *a, const uint8_t *address)
{
  uint64_t difference;
  if (a->family == 4)
    difference = get32(address) - get32(a->first);
  else if (memcmp(a->first, address, 8) != 0)
    return -1;
  else
    difference = get64(address + 8) - get64(a->first + 8);
  return difference < a->count ? (int64_t)difference : -1;
}

static void address_at(const struct tcp_addresses *a, uint32_t i, uint8_t *address)
{
  memcpy(address, a->first, sizeof a->first);
  if (a->family == 4) {
    put32(address, get32(a->first) + i);
  } else {
    uint64_t low = rte_cpu_to_be_64(get64(a->first + 8) + i);
    memcpy(address + 8, &low, sizeof low);
  }
}

/* RFC 6528: a clock of 4 us, and what follows from the addresses and a secret. */
static uint32_t initial_sequence(const struct tcp_endpoint *e, const struct tcp_key *key)
{
  return (uint32_t)(e->now / 4000) + pg_flow_index_hash(&e->table->index, key);
}

/* A connection in that state, which has sent nothing; NULL: there is no room. */
struct tcp_connection *tcp_new_connection(struct tcp_endpoint *e,
                                          const struct tcp_key *key, uint8_t state)
{
  uint32_t number = pg_flow_table_add(e->table, key, 0, 0);
  if (!number || !e->table->added)
    return NULL;
  struct tcp_connection *c = connection_of(e, number);
  c->state = state;
  c->una = c->next = c->most = c->recover = initial_sequence(e, key);
  c->out_from = c->out_to = c->una + 1;
  c->rto = FIRST_RTO;
  uint32_t end = tick_of(e->now) + e->life;
  c->ends = end ? end : 1;
  e->counts.started++;
  e->counts.open++;
  return c;
}

/* Take the record out; one in the list of those that may send goes as it comes up there. */
void tcp_remove(struct tcp_endpoint *e, struct tcp_connection *c)
{
  tcp_unschedule(e, c);
  tcp_await(e, c, false);
  c->state = TCPS_CLOSED;
  if (!(c->flags & C_READY))
    pg_flow_table_remove(e->table, number_of(e, c));
}

void tcp_end(struct tcp_endpoint *e, struct tcp_connection *c, uint64_t *count)
{
  if (c->state == TCPS_CLOSED)
    return;
  if (c->state == TCPS_TIME_WAIT) {
    e->counts.in_time_wait--;
  } else {
    e->counts.open--;
    (*count)++;
  }
  tcp_remove(e, c);
}

/* Closed, but for what may come late (RFC 9293, section 3.6.1). */
void tcp_time_wait(struct tcp_endpoint *e, struct tcp_connection *c)
{
  if (c->state != TCPS_TIME_WAIT) {
    e->counts.open--;
    e->counts.closed++;
    e->counts.in_time_wait++;
  }
  c->state = TCPS_TIME_WAIT;
  tcp_await(e, c, false);
  c->resend_at = 0;
  uint32_t at = tick_of(e->now) + e->time_wait + 1;
  c->act_at = at ? at : 1;
  tcp_schedule(e, c);
}

void tcp_abort(struct tcp_endpoint *e, struct tcp_connection *c, uint64_t *count)
{
  bool known = c->state > TCPS_SYN_SENT && c->state < TCPS_TIME_WAIT;
  if (known && c->key.protocol == IPPROTO_TCP &&
      tcp_emit(e, c, c->most, 0, TCP_RST | TCP_ACK_FLAG))
    e->counts.resets_sent++;
  tcp_end(e, c, count);
}

/* Abort what is behind that number (0: the first) while there is room for resets. Returns
 * whether that was all; `number` is the one to go on with. */
bool pg_tcp_abort(struct tcp_endpoint *e, uint32_t *number)
{
  while (e->outs < e->out_room && e->spares > 0) {
    *number = pg_flow_table_next(e->table, *number);
    if (!*number)
      return true;
    struct tcp_connection *c = connection_of(e, *number);
    if (c->state != TCPS_CLOSED)
      tcp_abort(e, c, &e->counts.aborted);
  }
  return false;
}

static uint16_t port_at(const struct tcp_ports *ports, uint32_t i)
{
  return rte_cpu_to_be_16((uint16_t)(ports->first + i));
}

/* The next addresses and ports in turn; which server's it is. */
static uint32_t next_tuple(struct tcp_endpoint *e, struct tcp_key *key)
{
  uint64_t t = e->next_tuple++;
  if (e->next_tuple >= e->tuples)
    e->next_tuple = 0;
  address_at(&e->clients, (uint32_t)(t % e->clients.count), key->local);
  t /= e->clients.count;
  uint32_t server = (uint32_t)(t % e->servers.count);
  address_at(&e->servers, server, key->remote);
  t /= e->servers.count;
  key->remote_port = port_at(&e->server_ports, (uint32_t)(t % e->server_ports.count));
  t /= e->server_ports.count;
  key->local_port = port_at(&e->client_ports, (uint32_t)(t % e->client_ports.count));
  return server;
}

/* A client's: one that isn't in use. */
static struct tcp_connection *open_one(struct tcp_endpoint *e)
{
  struct tcp_key key = {.family = (uint8_t)e->servers.family,
                        .protocol = e->udp ? IPPROTO_UDP : IPPROTO_TCP};
  for (int i = 0; i < TRIES; i++) {
    uint32_t server = next_tuple(e, &key);
    if (pg_flow_table_find(e->table, &key))
      continue;
    struct tcp_connection *c = tcp_new_connection(e, &key, TCPS_SYN_SENT);
    if (!c) {
      e->counts.no_room++;
      return NULL;
    }
    memcpy(c->mac, e->hops[e->hop_count == 1 ? 0 : server].mac, sizeof c->mac);
    return c;
  }
  e->counts.no_tuple++;
  return NULL;
}

void tcp_open(struct tcp_endpoint *e, struct tcp_connection *c)
{
  if (e->udp) {
    tcp_udp_open(e, c);
    return;
  }
  c->flags |= C_SYN_OWED;
  tcp_await(e, c, true);
  c->asked_at = now_us(e);
  tcp_make_ready(e, c);
}

/* Open up to `n` connections, as far as the limit allows; how many. */
uint32_t pg_tcp_open(struct tcp_endpoint *e, uint32_t n, uint64_t now)
{
  uint32_t opened = 0;
  e->now = now;
  for (; opened < n && e->counts.open < e->limit; opened++) {
    struct tcp_connection *c = open_one(e);
    if (!c)
      break;
    tcp_open(e, c);
  }
  return opened;
}
