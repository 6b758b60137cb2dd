/* SPDX-License-Identifier: Apache-2.0
 *
 * Sequence numbers of TCP connections in which somebody has made the payload longer or
 * shorter: from some number on, numbers are others on the other side. What was sent
 * before, and is sent again, keeps its numbers.
 */
#include <stdlib.h>
#include <string.h>

#include <rte_tcp.h>

#include "../../src/net/wire/sequence.h"
#include "../../src/net/wire/wire.h"
#include "../../src/net/checksum/sum.h"
#include "flow_table.h"

enum {
  OLD = 1 << 30, /* so far behind a trigger nothing comes any more */
  END_OF_OPTIONS = 0, NOTHING = 1, SACK = 5, /* kinds of options (RFC 793, 2018) */
  SUM = 16, SEQUENCE = 4, ACKNOWLEDGEMENT = 8, OPTIONS = 20
};

/* What is added to `sequence` in a direction. */
static int32_t delta_at(const struct click_deltas *d, uint32_t reply, uint32_t sequence)
{
  for (int i = d->n[reply] - 1; i >= 0; i--)
    if (!seq_before(sequence, d->list[reply][i].trigger))
      return d->list[reply][i].delta;
  return d->base[reply];
}

/* The sender's number for what the receiver calls `sequence`. */
static uint32_t undone(const struct click_deltas *d, uint32_t reply, uint32_t sequence)
{
  for (int i = d->n[reply] - 1; i >= 0; i--) {
    uint32_t own = sequence - (uint32_t)d->list[reply][i].delta;
    if (!seq_before(own, d->list[reply][i].trigger))
      return own;
  }
  return sequence - (uint32_t)d->base[reply];
}

/* The first `n` triggers are so far behind that they have always passed. */
static void forget(struct click_deltas *d, uint32_t reply, int n)
{
  struct click_delta *list = d->list[reply];
  if (n == 0)
    return;
  d->base[reply] = list[n - 1].delta;
  d->n[reply] = (uint8_t)(d->n[reply] - n);
  memmove(list, list + n, d->n[reply] * sizeof *list);
}

static void forget_old(struct click_deltas *d, uint32_t reply, uint32_t sequence)
{
  int n = 0;
  while (n < d->n[reply] && !seq_before(sequence, d->list[reply][n].trigger + OLD))
    n++;
  forget(d, reply, n);
}

static bool changes(const struct click_deltas *d, uint32_t reply)
{
  return d->n[reply] > 0 || d->base[reply] != 0;
}

static struct click_deltas *deltas_of(struct click_flows *t, uint32_t flow)
{
  if (!pg_flow_deltas_begin(t))
    return NULL;
  if (!t->deltas[flow])
    t->deltas[flow] = calloc(1, sizeof **t->deltas);
  t->flow[flow].shifted = 1;
  return t->deltas[flow];
}

/* From `trigger` on, numbers in this direction of the flow are `delta` more than up to
 * now. False if a later trigger is known already, or there is no memory. */
bool pg_flow_shift(struct click_flows *t, uint32_t number, uint32_t trigger,
                   int32_t delta)
{
  uint32_t reply = number % 2;
  struct click_deltas *d = deltas_of(t, number / 2);
  if (!d)
    return false;
  struct click_delta *list = d->list[reply];
  int last = d->n[reply] - 1;
  if (last >= 0 && seq_before(trigger, list[last].trigger))
    return false;
  if (last >= 0 && list[last].trigger == trigger) {
    list[last].delta = delta + (last > 0 ? list[last - 1].delta : d->base[reply]);
    return true;
  }
  delta += last >= 0 ? list[last].delta : d->base[reply];
  forget_old(d, reply, trigger);
  if (d->n[reply] == MOST_DELTAS)
    forget(d, reply, 1);
  list[d->n[reply]++] = (struct click_delta){trigger, delta};
  return true;
}

/* What is added to the newest numbers in this direction. */
int32_t pg_flow_delta(const struct click_flows *t, uint32_t number)
{
  const struct click_deltas *d = t->deltas ? t->deltas[number / 2] : NULL;
  uint32_t reply = number % 2;
  if (!d)
    return 0;
  return d->n[reply] ? d->list[reply][d->n[reply] - 1].delta : d->base[reply];
}

/* Put `value` at `at`; what that adds to the sum. At an odd number of bytes from the
 * header's start, the bytes of each word change places. */
static uint16_t put(const uint8_t *header, uint8_t *at, uint32_t value, uint16_t change)
{
  uint16_t before[2], after[2], own = 0;
  value = rte_cpu_to_be_32(value);
  memcpy(before, at, sizeof before);
  memcpy(after, &value, sizeof after);
  memcpy(at, &value, sizeof value);
  for (int i = 0; i < 2; i++)
    own = pg_add_change(own, before[i], after[i]);
  if ((at - header) % 2)
    own = rte_bswap16(own);
  return pg_add_change(change, 0, own);
}

/* The numbers that selective acknowledgements name. */
static uint16_t apply_sack(const struct click_deltas *d, uint32_t reply, uint8_t *tcp,
                           uint32_t length, uint16_t change)
{
  uint32_t header = (uint32_t)(tcp[12] >> 4) * 4;
  if (header > length)
    header = length;
  uint32_t n;
  for (uint32_t at = OPTIONS; at < header && tcp[at] != END_OF_OPTIONS; at += n) {
    if (tcp[at] == NOTHING) {
      n = 1;
      continue;
    }
    n = at + 1 < header ? tcp[at + 1] : 0;
    if (n < 2 || at + n > header)
      break;
    if (tcp[at] != SACK || n % 8 != 2)
      continue;
    for (uint32_t i = at + 2; i < at + n; i += 4)
      change = put(tcp, tcp + i, undone(d, !reply, get32(tcp + i)), change);
  }
  return change;
}

/* Change the numbers of a packet of the flow, in the TCP header at `tcp`. */
void pg_flow_deltas_apply(struct click_flows *t, uint32_t number, uint8_t *tcp,
                          uint32_t length)
{
  struct click_deltas *d = t->deltas[number / 2];
  uint32_t reply = number % 2;
  uint16_t change = 0, sum;
  if (!d || length < OPTIONS)
    return;
  uint32_t sequence = get32(tcp + SEQUENCE);
  forget_old(d, reply, sequence);
  if (changes(d, reply))
    change = put(tcp, tcp + SEQUENCE,
                 sequence + (uint32_t)delta_at(d, reply, sequence), change);
  if (changes(d, !reply)) {
    change = put(tcp, tcp + ACKNOWLEDGEMENT,
                 undone(d, !reply, get32(tcp + ACKNOWLEDGEMENT)), change);
    change = apply_sack(d, reply, tcp, length, change);
  }
  if (change == 0 || change == 0xffff)
    return;
  memcpy(&sum, tcp + SUM, sizeof sum);
  sum = pg_changed_sum(sum, change);
  memcpy(tcp + SUM, &sum, sizeof sum);
}
