/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments that came before those in front of them, in order.
 */
#include <stdlib.h>
#include <string.h>

#include "../wire/sequence.h"
#include "stream.h"

enum { FIRST_ROOM = 8 };

static bool make_room(struct stream_queue *q, uint32_t most)
{
  if (q->n < q->room)
    return q->n < most;
  uint32_t room = q->room ? 2 * q->room : FIRST_ROOM;
  if (q->n >= most)
    return false;
  struct stream_waiting *list = realloc(q->list, room * sizeof *list);
  if (!list)
    return false;
  q->list = list;
  q->room = room;
  return true;
}

/* Keep the packet, of the numbers from `seq` to `end`, among up to `most`. Not if one
 * that waits has all of it (STREAM_KNOWN), or if there is no room (STREAM_FULL). */
int pg_stream_wait(struct stream_queue *q, uint32_t seq, uint32_t end, struct packet *p,
                uint32_t most)
{
  uint32_t i = q->n;
  while (i > 0 && seq_before(seq, q->list[i - 1].seq))
    i--;
  if (i > 0 && !seq_before(q->list[i - 1].end, end))
    return STREAM_KNOWN;
  if (!make_room(q, most))
    return STREAM_FULL;
  memmove(q->list + i + 1, q->list + i, (q->n - i) * sizeof *q->list);
  q->list[i] = (struct stream_waiting){seq, end, p};
  q->n++;
  return STREAM_KEPT;
}

/* Give the memory back that is no longer needed. */
static void shrink(struct stream_queue *q)
{
  if (q->n == 0) {
    free(q->list);
    *q = (struct stream_queue){0};
  } else if (q->room > FIRST_ROOM && q->n <= q->room / 4) {
    struct stream_waiting *list = realloc(q->list, q->room / 2 * sizeof *list);
    if (list) {
      q->list = list;
      q->room /= 2;
    }
  }
}

static struct packet *take_first(struct stream_queue *q)
{
  struct packet *p = q->list[0].packet;
  q->n--;
  memmove(q->list, q->list + 1, q->n * sizeof *q->list);
  shrink(q);
  return p;
}

/* The first packet, taken out, if nothing is missing from `seq` on to it; or NULL. */
struct packet *pg_stream_next(struct stream_queue *q, uint32_t seq)
{
  return q->n > 0 && !seq_before(seq, q->list[0].seq) ? take_first(q) : NULL;
}

/* The first packet, taken out; or NULL. */
struct packet *pg_stream_any(struct stream_queue *q) { return q->n ? take_first(q) : NULL; }
