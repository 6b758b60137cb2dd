/* SPDX-License-Identifier: Apache-2.0
 *
 * Routes in a configuration's text, as nearly all are written: "10.0.0.0/8 10.0.0.1 2",
 * with commas between them. What is written otherwise (names, quotes, comments, errors)
 * is left to click.net.route_commands.
 */
#include "ip4_table.h"

enum { LONGEST = 32, MOST_PORT_DIGITS = 5 };

struct cursor { const char *at, *end; };

static bool is_space(char c)
{
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_space(struct cursor *c)
{
  while (c->at < c->end && is_space(*c->at))
    c->at++;
}

/* Is that the next character? Then go past it. */
static bool accept(struct cursor *c, char wanted)
{
  if (c->at == c->end || *c->at != wanted)
    return false;
  c->at++;
  return true;
}

/* A decimal number of up to so many digits, and up to `most`. */
static bool number(struct cursor *c, int digits, uint32_t most, uint32_t *value)
{
  const char *first = c->at;
  *value = 0;
  while (c->at < c->end && *c->at >= '0' && *c->at <= '9' && c->at - first < digits)
    *value = *value * 10 + (uint32_t)(*c->at++ - '0');
  return c->at > first && *value <= most;
}

static bool address(struct cursor *c, uint32_t *value)
{
  *value = 0;
  for (int i = 0; i < 4; i++) {
    uint32_t byte;
    if ((i > 0 && !accept(c, '.')) || !number(c, 3, 255, &byte))
      return false;
    *value = *value << 8 | byte;
  }
  return true;
}

/* A word ends here. */
static bool at_space(const struct cursor *c)
{
  return c->at < c->end && is_space(*c->at);
}

/* The gateway, if there is one, and the port behind it. */
static bool target(struct cursor *c, uint32_t *gateway, uint32_t *port)
{
  struct cursor before = *c;
  *gateway = 0;
  if (accept(c, '-') || address(c, gateway)) {
    if (!at_space(c))
      return false;
    skip_space(c);
  } else {
    *c = before;
    *gateway = 0;
  }
  return number(c, MOST_PORT_DIGITS, UINT16_MAX, port);
}

/* One argument; false: it is written otherwise. */
static bool route(struct cursor *c, struct ip4_route *r)
{
  uint32_t length = LONGEST, port;
  skip_space(c);
  if (!address(c, &r->address) || (accept(c, '/') && !number(c, 2, LONGEST, &length)) ||
      !at_space(c))
    return false;
  skip_space(c);
  if (!target(c, &r->gateway, &port))
    return false;
  skip_space(c);
  if (c->at < c->end && !accept(c, ','))
    return false;
  r->mask = length ? UINT32_MAX << (LONGEST - length) : 0;
  r->address &= r->mask;
  r->port = (int32_t)port;
  return true;
}

/* Read up to `most` arguments of the text on from r->at: 1, and there may be more; 0 if
 * the next one is written otherwise, or there is none, or its port is none of r->ports;
 * IP4_NO_MEMORY or IP4_TOO_MANY_WAYS. */
int32_t pg_ip4_table_read(struct ip4_table *t, const char *text, struct ip4_reading *r,
                          int32_t most)
{
  for (; most > 0; most--) {
    struct cursor c = {text + r->at, text + r->size};
    struct ip4_route new;
    if (!route(&c, &new) || new.port >= r->ports)
      return 0;
    bool known = pg_ip4_table_find(t, new.address, new.mask) != 0;
    if (!known || r->replace) {
      int32_t place = pg_ip4_table_put(t, new.address, new.mask, new.gateway, new.port);
      if (place < 0)
        return place;
    }
    r->at = (uint32_t)(c.at - text);
    r->number++;
    r->again += known;
    r->most_port = new.port > r->most_port ? new.port : r->most_port;
  }
  return 1;
}
