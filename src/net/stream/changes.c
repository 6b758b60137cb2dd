/* SPDX-License-Identifier: Apache-2.0
 *
 * What a stream's changes do to its sequence numbers, both ways, and to bytes that are
 * sent again. A change takes the place of one byte or more, so that each number is before
 * it, in it, or behind it.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "changes.h"
#include "../wire/sequence.h"

static uint32_t end_of(const struct stream_change *x) { return x->at + x->old; }

static int32_t growth_behind(const struct stream_change *x)
{
  return x->growth + x->fresh - x->old;
}

/* Where its bytes begin and end for the receiver. */
static uint32_t fresh_at(const struct stream_change *x)
{
  return x->at + (uint32_t)x->growth;
}

static uint32_t fresh_end(const struct stream_change *x)
{
  return fresh_at(x) + x->fresh;
}

uint32_t stream_changes_up_to(const struct stream_changes *c, uint32_t seq)
{
  uint32_t low = 0, high = c->n;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (seq_before(seq, end_of(&c->list[middle])))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static int32_t growth_before(const struct stream_changes *c, uint32_t i)
{
  return i ? growth_behind(&c->list[i - 1]) : c->growth;
}

/* What the receiver calls `seq`; where a change begins, for a number within it. */
uint32_t pg_stream_sent(const struct stream_changes *c, uint32_t seq)
{
  uint32_t i = stream_changes_up_to(c, seq);
  if (i < c->n && seq_before(c->list[i].at, seq))
    seq = c->list[i].at;
  return seq + (uint32_t)growth_before(c, i);
}

/* What the sender calls `ack`, the greatest number if there are several: who has all that
 * is before bytes that were taken out has those, too. Where a change begins, for a number
 * within it. */
uint32_t pg_stream_acked(const struct stream_changes *c, uint32_t ack)
{
  uint32_t low = 0, high = c->n;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (seq_before(ack, fresh_end(&c->list[middle])))
      high = middle;
    else
      low = middle + 1;
  }
  if (low < c->n && seq_before(fresh_at(&c->list[low]), ack))
    return c->list[low].at;
  return ack - (uint32_t)growth_before(c, low);
}

static _Atomic uint32_t taken; /* bytes, by all threads' streams */

uint32_t stream_memory_left(void)
{
  uint32_t now = atomic_load_explicit(&taken, memory_order_relaxed);
  return now < STREAM_MEMORY_MOST ? STREAM_MEMORY_MOST - now : 0;
}

static void give(void *old, uint32_t n)
{
  free(old);
  atomic_fetch_sub_explicit(&taken, n, memory_order_relaxed);
}

void *stream_memory(void *old, uint32_t from, uint32_t to)
{
  void *new = to - from > stream_memory_left() ? NULL : realloc(old, to);
  if (new)
    atomic_fetch_add_explicit(&taken, to - from, memory_order_relaxed);
  return new;
}

void stream_change_release(struct stream_changes *c, struct stream_change *x)
{
  if (x->fresh > sizeof x->near) {
    c->bytes -= x->fresh;
    give(x->far, x->fresh);
  }
}

static void free_list(struct stream_changes *c)
{
  give(c->list, c->room * (uint32_t)sizeof *c->list);
  c->list = NULL;
  c->room = 0;
}

/* The sender knows that all before `ack` has arrived. */
void pg_stream_forget(struct stream_changes *c, uint32_t ack)
{
  uint32_t n = stream_changes_up_to(c, ack);
  if (n == 0)
    return;
  c->growth = growth_before(c, n);
  for (uint32_t i = 0; i < n; i++)
    stream_change_release(c, &c->list[i]);
  c->n -= n;
  memmove(c->list, c->list + n, c->n * sizeof *c->list);
  if (c->n == 0)
    free_list(c);
}

void pg_stream_changes_free(struct stream_changes *c)
{
  for (uint32_t i = 0; i < c->n; i++)
    stream_change_release(c, &c->list[i]);
  free_list(c);
  memset(c, 0, sizeof *c);
}

/* Where bytes are written, if there is room for them. */
struct output { uint8_t *at; uint32_t n, room; bool full; };

static void put(struct output *o, const uint8_t *bytes, uint32_t n)
{
  if (n > o->room - o->n) {
    o->full = true;
    return;
  }
  memcpy(o->at + o->n, bytes, n);
  o->n += n;
}

/* The `n` bytes from `seq` on as they were sent, at `out`: how many they are, or -1 if
 * they are more than `room`. *first: the number of the first, an earlier one if `seq` is
 * within a change. */
int32_t pg_stream_rewritten(const struct stream_changes *c, uint32_t seq, const uint8_t *in,
                         uint32_t n, uint8_t *out, uint32_t room, uint32_t *first)
{
  struct output o = {out, 0, room, false};
  uint32_t end = seq + n, at = seq;
  *first = seq;
  for (uint32_t i = stream_changes_up_to(c, seq); i < c->n; i++) {
    const struct stream_change *x = &c->list[i];
    if (!seq_before(x->at, end))
      break;
    if (seq_before(at, x->at))
      put(&o, in + (at - seq), x->at - at);
    if (seq_before(x->at, seq))
      *first = x->at;
    put(&o, stream_change_bytes(x), x->fresh);
    if (seq_before(at, end_of(x)))
      at = end_of(x);
  }
  if (seq_before(at, end))
    put(&o, in + (at - seq), end - at);
  return o.full ? -1 : (int32_t)o.n;
}
