/* SPDX-License-Identifier: Apache-2.0
 *
 * The share that one of several copies of a program has of a file: the packets of its
 * flows, as handing out in software would give it (native/kernels/flows.c). Each copy
 * reads the file by itself, and no packet passes from one CPU to another.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../native/kernels.h"
#include "state.h"

enum { FIRST_ROOM = 1024 };

uint16_t share_keep(const struct share *s, struct slice *slices, uint16_t n)
{
  uint16_t kept = 0;
  for (uint16_t i = 0; i < n; i++) {
    struct slice slice = slices[i];
    slices[kept] = slice;
    kept += pg_copy_for_frame(slice.data, slice.length, s->copies, s->by) == s->copy;
  }
  return kept;
}

static bool make_room(struct share *s, uint32_t more)
{
  uint32_t room = s->room ? s->room : FIRST_ROOM;
  while (room < s->n + more)
    room *= 2;
  if (room == s->room)
    return true;
  struct slice *grown = realloc(s->list, room * sizeof *grown);
  if (grown) {
    s->list = grown;
    s->room = room;
  }
  return grown != NULL;
}

/* Without memory for the list, they are picked out of the file each round. */
void share_list(struct share *s, struct capture *c)
{
  struct slice slices[256];
  uint16_t n;
  while ((n = capture_next(c, slices, 256)) > 0) {
    n = share_keep(s, slices, n);
    if (!make_room(s, n)) {
      share_close(s);
      return;
    }
    memcpy(s->list + s->n, slices, n * sizeof *slices);
    s->n += n;
  }
  s->listed = true;
}

uint16_t share_next(struct share *s, struct slice *slices, uint16_t n)
{
  uint32_t left = s->n - s->at, some = n < left ? n : left;
  if (s->n == 0)
    return 0;
  memcpy(slices, s->list + s->at, some * sizeof *slices);
  s->at = some == left ? 0 : s->at + some;
  return some;
}

void share_close(struct share *s)
{
  free(s->list);
  s->list = NULL;
  s->n = s->room = 0;
}
