/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that comes out of order: which bytes have come is kept, not the bytes.
 */
#include <string.h>

#include "internal.h"

static bool is_used(const struct tcp_range *r) { return r->from != r->to; }

/* Keep that these bytes have come: they are joined with those that they touch. */
static void keep(struct tcp_connection *c, uint32_t from, uint32_t to)
{
  struct tcp_range list[TCP_RANGES + 1];
  int n = 0;
  bool put = false;
  for (int i = 0; i < TCP_RANGES && is_used(&c->range[i]); i++) {
    struct tcp_range *r = &c->range[i];
    if (!seq_before(r->to, from) && !seq_before(to, r->from)) {
      from = seq_before(r->from, from) ? r->from : from;
      to = seq_before(to, r->to) ? r->to : to;
      continue;
    }
    if (!put && seq_before(to, r->from)) {
      list[n++] = (struct tcp_range){from, to};
      put = true;
    }
    list[n++] = *r;
  }
  if (!put)
    list[n++] = (struct tcp_range){from, to};
  memset(c->range, 0, sizeof c->range);
  memcpy(c->range, list, least(n, TCP_RANGES) * sizeof *list);
}

/* Data from `from` to `to` has come out of order. Only what needn't be read may: the rest
 * will be sent again. */
void tcp_keep_early(struct tcp_connection *c, uint32_t from, uint32_t to)
{
  uint32_t end = c->expected + tcp_unread(c);
  if (seq_before(end, to))
    to = end;
  if (seq_before(from, to))
    keep(c, from, to);
}

bool tcp_has_early(const struct tcp_connection *c)
{
  return is_used(&c->range[0]);
}

/* So many bytes from `expected` on have come. What came before it out of order follows. */
void tcp_take(struct tcp_endpoint *e, struct tcp_connection *c, const uint8_t *data,
              uint32_t n)
{
  c->expected += n;
  tcp_receive(e, c, data, n);
  while (c->range[0].from != c->range[0].to && !seq_before(c->expected, c->range[0].from)) {
    uint32_t more = seq_before(c->expected, c->range[0].to) ? c->range[0].to - c->expected
                                                            : 0;
    memmove(&c->range[0], &c->range[1], 2 * sizeof c->range[0]);
    c->range[2] = (struct tcp_range){0, 0};
    c->expected += more;
    if (more > 0 && c->state != TCPS_CLOSED)
      tcp_receive(e, c, NULL, more);
  }
}
