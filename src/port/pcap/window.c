/* SPDX-License-Identifier: Apache-2.0
 *
 * The window over a capture file. It fits in a CPU's second cache, so that what was
 * read into it is copied on from there; it grows for longer blocks, by no more than
 * the file really has. A file that is sent over and over stays in it in full.
 */
#include <stdlib.h>
#include <string.h>

#include "../../native/log.h"
#include "state.h"

enum { WINDOW_BYTES = 256 * 1024 };

/* Most bytes of a file that are kept in memory; more is read again each round. */
enum { KEPT_BYTES = 256 * 1024 * 1024 };

int window_open(struct window *w)
{
  *w = (struct window){.bytes = malloc(WINDOW_BYTES), .size = WINDOW_BYTES};
  return w->bytes ? 0 : -1;
}

void window_close(struct window *w)
{
  free(w->bytes);
  w->bytes = NULL;
}

/* What has been passed goes; a window that has grown is made small again. */
static void move_to_start(struct window *w)
{
  size_t left = window_has(w);
  memmove(w->bytes, w->bytes + w->cursor, left);
  w->base += w->cursor;
  w->cursor = 0;
  w->limit = left;
  if (w->size > WINDOW_BYTES && left < WINDOW_BYTES / 2) {
    uint8_t *small = realloc(w->bytes, WINDOW_BYTES);
    w->bytes = small ? small : w->bytes;
    w->size = small ? WINDOW_BYTES : w->size;
  }
}

/* Room for more bytes: what has been passed goes, unless it is to be kept. */
static bool make_room(struct capture *c)
{
  struct window *w = &c->window;
  if (w->keep && w->limit == w->size && w->size >= KEPT_BYTES) {
    w->keep = false;
    pg_logf(LOG_INFO, "%s has more than %d MB, which are read again for each round",
            c->source.path, KEPT_BYTES >> 20);
  }
  if (!w->keep && w->cursor > 0)
    move_to_start(w);
  if (w->limit < w->size)
    return true;
  uint8_t *grown = realloc(w->bytes, 2 * w->size);
  if (!grown)
    return false;
  w->bytes = grown;
  w->size *= 2;
  return true;
}

/* One read into the window. */
static enum found read_on(struct capture *c)
{
  struct window *w = &c->window;
  if (!make_room(c))
    return capture_damaged(c, ": there is no memory for a block of it");
  ssize_t got = source_read(&c->source, w->bytes + w->limit, w->size - w->limit);
  if (got > 0)
    w->limit += got;
  w->ended = got == SOURCE_END;
  return got > 0 ? FOUND
         : got == SOURCE_END ? ENDED
         : got == SOURCE_WAIT ? WAITING
         : capture_damaged(c, " can't be read on after packet %llu: %s",
                           (unsigned long long)c->packets, c->source.problem);
}

enum found window_need(struct capture *c, size_t n)
{
  struct window *w = &c->window;
  while (window_has(w) < n) {
    enum found found = w->ended ? ENDED : read_on(c);
    if (found != FOUND)
      return found;
  }
  return FOUND;
}
