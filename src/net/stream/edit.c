/* SPDX-License-Identifier: Apache-2.0
 *
 * A segment's payload changed in its packet, and the change noted for the stream. Where
 * some of it was changed before, both become one change. One that is sent again is
 * changed as it was before.
 */
#include <stdlib.h>
#include <string.h>

#include "../../native/api.h"
#include "../wire/wire.h"
#include "changes.h"
#include "../wire/sequence.h"

enum { FIRST_ROOM = 4, LONGEST = 0xffff, NEAR = 24, MANY = 1024 };

/* Part of a segment: bytes [from, to) of its payload as it is now, [first, last) of the
 * stream, and the changes [low, high) of which it is. */
struct span { uint32_t from, to, first, last, low, high; };

/* How far a change moves what is behind it. */
static int64_t moves(const struct stream_change *x) { return (int64_t)x->fresh - x->old; }

/* Let the span begin with changes of this segment before it that are so near that they
 * take less memory together; or with all, if there are many. `shift`: how far changes
 * before it have moved it. */
static void join(const struct stream_changes *c, uint32_t seq, int64_t shift,
                 struct span *s)
{
  while (s->low > 0 && !seq_before(c->list[s->low - 1].at, seq)) {
    const struct stream_change *x = &c->list[s->low - 1];
    int64_t end = (int64_t)(x->at + x->old - seq) + shift;
    if (s->from - end > NEAR && c->n < MANY)
      break;
    shift -= moves(x);
    s->from = (uint32_t)(x->at - seq + shift);
    s->first = x->at;
    s->low--;
  }
}

/* Let the span begin and end where no change is cut. */
static void widen(const struct stream_changes *c, uint32_t seq, struct span *s)
{
  uint32_t i = stream_changes_up_to(c, seq);
  int64_t shift = 0; /* of the payload, by changes of this segment before */
  while (i < c->n && seq_before(c->list[i].at, seq))
    i++;
  for (; i < c->n; i++) {
    const struct stream_change *x = &c->list[i];
    if ((int64_t)(x->at - seq) + shift + x->fresh > s->from)
      break;
    shift += moves(x);
  }
  s->low = i;
  s->first = (uint32_t)(seq + s->from - shift);
  if (i < c->n && (int64_t)(c->list[i].at - seq) + shift < s->from) {
    s->first = c->list[i].at;
    s->from = (uint32_t)(s->first - seq + shift);
  }
  join(c, seq, shift, s);
  uint32_t end = s->to;
  for (; i < c->n; i++) {
    const struct stream_change *x = &c->list[i];
    int64_t from = (int64_t)(x->at - seq) + shift;
    if (from >= end)
      break;
    if (from + x->fresh > s->to)
      s->to = (uint32_t)(from + x->fresh);
    shift += moves(x);
  }
  s->high = i;
  s->last = (uint32_t)(seq + s->to - shift);
}

/* May bytes [from, to) of `now` be changed with the span around them? Not if they are of
 * no stream that the changes before are of: these are in order, and none overlaps. */
static bool fits(const struct stream_changes *c, const struct span *s, uint32_t from,
                 uint32_t to, uint32_t now)
{
  if (s->from > from || s->to < to || s->to > now || s->last - s->first > LONGEST)
    return false;
  if (s->low > 0) {
    const struct stream_change *before = &c->list[s->low - 1];
    if (seq_before(s->first, before->at + before->old))
      return false;
  }
  return s->high == c->n || !seq_before(c->list[s->high].at, s->last);
}

/* Room for one change more. */
static bool make_room(struct stream_changes *c)
{
  if (c->n < c->room)
    return true;
  uint32_t room = c->room ? 2 * c->room : FIRST_ROOM;
  if (room > STREAM_CHANGES_MOST)
    return false;
  uint32_t size = sizeof *c->list;
  struct stream_change *list = stream_memory(c->list, c->room * size, room * size);
  if (!list)
    return false;
  c->list = list;
  c->room = room;
  return true;
}

/* The bytes of a change, `fresh` of them; NULL: no room. A stream has no more than all
 * others have left, so that some don't take all. */
static uint8_t *bytes_of(struct stream_changes *c, struct stream_change *x)
{
  if (x->fresh <= sizeof x->near)
    return x->near;
  uint32_t left = stream_memory_left();
  uint32_t most = left < STREAM_CHANGES_BYTES_MOST ? left : STREAM_CHANGES_BYTES_MOST;
  if (c->bytes + x->fresh > most || !(x->far = stream_memory(NULL, 0, x->fresh)))
    return NULL;
  c->bytes += x->fresh;
  return x->far;
}

/* Put the change in the place of those of the span. */
static void replace(struct stream_changes *c, const struct span *s, struct stream_change *x)
{
  for (uint32_t i = s->low; i < s->high; i++)
    stream_change_release(c, &c->list[i]);
  memmove(c->list + s->low + 1, c->list + s->high,
          (c->n - s->high) * sizeof *c->list);
  c->list[s->low] = *x;
  c->n += 1 + s->low - s->high;
  int32_t growth = c->growth;
  if (s->low > 0)
    growth = c->list[s->low - 1].growth + (int32_t)moves(&c->list[s->low - 1]);
  for (uint32_t i = s->low; i < c->n; i++) {
    c->list[i].growth = growth;
    growth += (int32_t)moves(&c->list[i]);
  }
}

/* Note that bytes [from, to) of the payload became `fresh` others: with what is left of
 * the span around them. */
static bool note(struct stream_changes *c, const struct span *s, const uint8_t *payload,
                 uint32_t from, uint32_t to, const uint8_t *bytes, uint32_t fresh)
{
  uint32_t front = from - s->from, back = s->to - to;
  if (!make_room(c) || front + fresh + back > LONGEST)
    return false;
  struct stream_change x = {.at = s->first, .old = (uint16_t)(s->last - s->first),
                         .fresh = (uint16_t)(front + fresh + back)};
  uint8_t *out = bytes_of(c, &x);
  if (!out)
    return false;
  memcpy(out, payload + s->from, front);
  memcpy(out + front, bytes, fresh);
  memcpy(out + front + fresh, payload + to, back);
  c->made = 1;
  replace(c, s, &x);
  return true;
}

/* Put `fresh` bytes in the place of `old` ones from `position` on in the payload, of
 * which there are to be `most` then, at most. `old` is 1 or more, or 0 next to bytes that
 * were changed before. `c` NULL: nothing is noted.
 * The packet's length changes; IP's stays, it says what the sender sent. */
int pg_stream_edit(struct stream_changes *c, struct packet *p, const struct stream_segment *s,
                uint32_t position, uint32_t old, const uint8_t *bytes, uint32_t fresh,
                uint32_t most)
{
  uint32_t now = p->length - s->payload, rest = now - position - old;
  if (p->length < s->payload || (old == 0 && !c) || position > now || old > now - position ||
      fresh > most || now - old > most - fresh ||
      s->payload + now - old + fresh > PACKET_MAX_PAYLOAD)
    return STREAM_NO_ROOM;
  uint8_t *payload = p->buf_addr + p->data_off + s->payload;
  struct span span = {.from = position, .to = position + old};
  if (c) {
    widen(c, s->seq, &span);
    if (span.first == span.last)
      return STREAM_NO_ROOM;
    if (!fits(c, &span, position, position + old, now) ||
        !note(c, &span, payload, position, position + old, bytes, fresh))
      return STREAM_TOO_MANY;
  }
  memmove(payload + position + fresh, payload + position + old, rest);
  memcpy(payload + position, bytes, fresh);
  p->length = (uint16_t)(p->length - old + fresh);
  return STREAM_EDITED;
}

/* Change the payload of a segment that the sender sends again as it was changed before.
 * It may then begin earlier. */
int pg_stream_send_again(const struct stream_changes *c, struct packet *p,
                      const struct stream_segment *s)
{
  uint8_t out[PACKET_MAX_PAYLOAD];
  uint8_t *front = p->buf_addr + p->data_off;
  uint32_t first;
  int32_t n = pg_stream_rewritten(c, s->seq, front + s->payload, s->length, out,
                               PACKET_MAX_PAYLOAD - s->payload, &first);
  if (n < 0)
    return STREAM_NO_ROOM;
  memcpy(front + s->payload, out, (uint32_t)n);
  p->length = (uint16_t)(s->payload + n);
  put32(front + s->tcp + TCP_SEQUENCE, first);
  return STREAM_EDITED;
}
