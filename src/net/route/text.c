/* SPDX-License-Identifier: Apache-2.0
 *
 * Routes in a configuration's text, as nearly all are written: "10.0.0.0/8 10.0.0.1 2",
 * with commas between them. What is written otherwise (names, quotes, comments, errors)
 * is left to click.net.route_commands. And prefixes alone, and the text of a table.
 */
#include "route.h"

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

/* Read all of the text as a prefix. */
bool pg_ip4_prefix_read(const char *text, uint32_t size, struct ip4_prefix *prefix)
{
  struct cursor c = {text, text + size};
  return address(&c, &prefix->address) && accept(&c, '/') &&
         number(&c, 2, LONGEST, &prefix->length) && c.at == c.end;
}

/* A word ends here. */
static bool at_space(const struct cursor *c)
{
  return c->at < c->end && is_space(*c->at);
}

/* The gateway, if there is one, and the port behind it: 010 is one in octal digits, which
 * is unusual. */
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
  before = *c;
  return number(c, MOST_PORT_DIGITS, UINT16_MAX, port) &&
         (*before.at != '0' || c->at - before.at == 1);
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

/* The table as Click shows it ---------------------------------------------------------- */

enum { LONGEST_LINE = 80, PREFIX_COLUMN = 17, GATEWAY_COLUMN = 9 };

static char *put_number(char *to, uint32_t n)
{
  char digits[10];
  int i = 0;
  do
    digits[i++] = (char)('0' + n % 10);
  while (n /= 10);
  while (i > 0)
    *to++ = digits[--i];
  return to;
}

static char *put_address(char *to, uint32_t address)
{
  for (int shift = 24; shift >= 0; shift -= 8) {
    to = put_number(to, address >> shift & 255);
    if (shift)
      *to++ = '.';
  }
  return to;
}

/* The end of what began at `from`, in a column so wide. */
static char *put_tabs(char *to, const char *from, int width)
{
  if (to - from + 1 < width)
    *to++ = '\t';
  *to++ = '\t';
  return to;
}

static char *put_line(char *to, const struct ip4_route *r)
{
  char *from = to;
  to = put_address(to, r->address);
  *to++ = '/';
  to = r->length < 0 ? put_address(to, r->mask) : put_number(to, (uint32_t)r->length);
  to = put_tabs(to, from, PREFIX_COLUMN);
  from = to;
  if (r->gateway)
    to = put_address(to, r->gateway);
  else
    *to++ = '-';
  to = put_tabs(to, from, GATEWAY_COLUMN);
  to = put_number(to, (uint32_t)r->port);
  *to++ = '\n';
  return to;
}

/* Lines of the routes from *place on, as many as fit into `size` bytes: how many bytes
 * they are. *place is that of the next one; 0 bytes: there is none. */
uint32_t pg_ip4_table_text(const struct ip4_table *t, int32_t *place, char *text,
                           uint32_t size)
{
  char *to = text, *last = text + size - LONGEST_LINE;
  for (; *place <= t->last && to <= last; ++*place)
    if (t->routes[*place].used)
      to = put_line(to, &t->routes[*place]);
  return (uint32_t)(to - text);
}
