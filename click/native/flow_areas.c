/* SPDX-License-Identifier: Apache-2.0
 *
 * Flows of managers of a process that has ended (src/net/keep), as they were or as somebody
 * has made them up: what a record says is checked before it is a flow. All is checked
 * before anything changes.
 */
#include <string.h>

#include "../../src/net/flow/find.h"
#include "../../src/net/keep/keep.h"
#include "../../src/native/api.h"
#include "flow_areas.h"

enum { LARGEST = 1 << 16, ID = sizeof(struct click_flow_id) };

static uint32_t mix(uint32_t sum, uint32_t n) { return sum * 31 + n; }

uint32_t pg_flow_port_sum(const struct click_port_area *a)
{
  uint32_t sum = mix(mix(mix(1, a->port), a->made), a->server);
  return mix(mix(mix(mix(sum, a->address), a->destination), a->sport), a->dport);
}

/* 1 + the number of a former server, or 0. */
static uint32_t server_now(const struct click_area *a, uint32_t former)
{
  return former < a->servers ? a->server[former] : 0;
}

/* Do answers from there to the port come to this copy (src/native/kernels/flows.c)? */
static bool comes_here(const struct click_area *a, uint32_t far, uint32_t own,
                       const struct click_port_area *p)
{
  if (!a->copies)
    return true;
  uint32_t both = p->dport | (uint32_t)__builtin_bswap16((uint16_t)p->port) << 16;
  return pg_copy_of(pg_tuple_hash(far, own, both), a->copies) == a->copy;
}

/* Is the area one that there can be here? Its server gets the number that it has now. */
static uint32_t check_port(const struct click_area *a, struct click_port_area *p)
{
  uint32_t server = 0, far = p->destination;
  if (p->sum != pg_flow_port_sum(p) || p->port < PORT_FIRST || p->port >= PORT_END)
    return KEEP_BAD;
  if (a->server) {
    server = server_now(a, p->server);
    if (!server)
      return AREAS_SERVER;
    p->server = --server;
    p->open = p->open > 0;
    far = a->address[server];
  }
  return comes_here(a, far, a->source[server], p) ? KEEP_USED : AREAS_COPY;
}

static bool is_nobody(const struct click_flow_id *id)
{
  static const struct click_flow_id nobody;
  return !memcmp(id, &nobody, ID);
}

void pg_flow_areas_see(void *areas, const void *record)
{
  const struct click_areas *all = areas;
  struct click_flow_id id;
  memcpy(&id, record, ID);
  for (uint32_t i = 0; i < all->n && !all->refused; i++) {
    const struct click_area *a = &all->area[i];
    struct click_port_area p;
    if (a->kind != AREA_PORT)
      continue;
    memcpy(&p, (const uint8_t *)record + a->offset, sizeof p);
    if (!p.port || check_port(a, &p) != KEEP_USED || a->port[p.port].used ||
        is_nobody(&id))
      continue;
    a->owner[p.port] = id;
    a->port[p.port] = (struct click_port){
      p.address, a->server ? p.destination : 0, a->server ? a->address[p.server] : 0,
      p.made, 1, p.sport, PORT_GIVEN, 0};
  }
}

static uint32_t check(const struct click_area *a, uint8_t *record)
{
  uint8_t *at = record + a->offset;
  if (a->kind == AREA_NEW) {
    memset(at, 0, a->size);
  } else if (a->kind == AREA_SERVER) {
    struct click_server_area *s = (struct click_server_area *)at;
    s->open = s->open > 0;
    if (s->server && !(s->server = server_now(a, s->server - 1)))
      return AREAS_SERVER;
  } else if (a->kind == AREA_PORT) {
    struct click_port_area *p = (struct click_port_area *)at;
    uint32_t outcome = p->port ? check_port(a, p) : KEEP_USED;
    if (outcome != KEEP_USED)
      return outcome;
    if (!p->port)
      memset(p, 0, sizeof *p);
    else if (memcmp(&a->owner[p->port], record, ID))
      return AREAS_PORT;
  }
  return KEEP_USED;
}

/* The flow is there. */
static void go_on(const struct click_area *a, uint8_t *record)
{
  uint8_t *at = record + a->offset;
  if (a->kind == AREA_COUNTER) {
    uint32_t seen = ((struct click_counter_area *)at)->packets > 0;
    a->counts->begun += seen;
    a->counts->open += seen;
  } else if (a->kind == AREA_SERVER) {
    struct click_server_area *s = (struct click_server_area *)at;
    if (s->server)
      a->load[s->server - 1].connections += s->open;
  } else if (a->kind == AREA_PORT) {
    struct click_port_area *p = (struct click_port_area *)at;
    if (!p->port)
      return;
    p->sum = pg_flow_port_sum(p); /* the server may have another number */
    memset(&a->owner[p->port], 0, ID);
    if (a->server) {
      a->counts->begun++;
      a->load[p->server].connections += p->open;
    }
  }
}

uint32_t pg_flow_areas_restore(void *areas, const void *record, int64_t now)
{
  const struct click_areas *all = areas;
  const struct flow_records *r = &all->table->records;
  _Alignas(8) uint8_t model[LARGEST];
  if (all->refused)
    return all->refused;
  memcpy(model, record, r->size);
  for (uint32_t i = 0; i < all->n; i++) {
    uint32_t outcome = check(&all->area[i], model);
    if (outcome != KEEP_USED)
      return outcome;
  }
  uint32_t number, outcome = pg_keep_restore(all->table, model, now, &number);
  if (outcome != KEEP_USED)
    return outcome;
  uint8_t *there = flow_record(&all->table->records, number);
  ((struct click_flow_head *)there)->tag = all->tag | number;
  for (uint32_t i = 0; i < all->n; i++)
    go_on(&all->area[i], there);
  return KEEP_USED;
}

/* A record that comes behind others of its list is the oldest of it: so the last goes
 * first. */
void pg_flow_areas_take(struct click_areas *areas, const struct flow_table *from,
                        int64_t now, uint64_t *outcomes)
{
  const struct flow_records *r = &from->records;
  for (uint32_t i = 0; !from->lists && (i = pg_flow_table_next(from, i));)
    outcomes[pg_flow_areas_restore(areas, flow_record(r, i), now)]++;
  for (uint32_t list = 0; list < from->lists; list++)
    for (uint32_t i = from->list[list].newest; i; i = flow_age_of(r, i)->older)
      outcomes[pg_flow_areas_restore(areas, flow_record(r, i), now)]++;
}

void pg_flow_areas_see_all(struct click_areas *areas, const struct flow_table *from)
{
  for (uint32_t i = 0; (i = pg_flow_table_next(from, i));)
    pg_flow_areas_see(areas, flow_record(&from->records, i));
}

bool pg_flow_areas_is_own(void *areas, const void *record)
{
  const struct click_areas *all = areas;
  struct click_flow_id id;
  if (!all->copies)
    return true;
  memcpy(&id, record, sizeof id);
  uint32_t ports = id.sport | (uint32_t)id.dport << 16;
  return pg_copy_of(pg_tuple_hash(id.source, id.destination, ports), all->copies) ==
         all->copy;
}
