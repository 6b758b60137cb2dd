/* SPDX-License-Identifier: Apache-2.0
 *
 * For --check: does a script write to a buffer after it has sent or freed it? Then the
 * device may send the one or the other. What was in the buffer is copied as it goes, and
 * compared when the pool gives it again, when another task receives it, and at the end.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mempool.h>

#include "../../src/native/host.h"
#include "check.h"
#include "internal.h"

/* What is known of a buffer; `at` is NULL while a script has it. */
struct note {
  const char *at;            /* the line where it was sent or freed */
  const char *what;          /* "sent", "freed" */
  uint16_t offset, length;   /* of the bytes that are copied */
  uint8_t bytes[];
};

bool mg_checks;

/* Lines, each once: tasks' Lua states end before buffers come back. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char **lines;
static uint32_t nlines;

static _Thread_local const char *here = "?";

static char found[512]; /* the first that wasn't told yet, or "" */

static const char *line(const char *text)
{
  for (uint32_t i = 0; i < nlines; i++)
    if (!strcmp(lines[i], text))
      return lines[i];
  char **more = realloc(lines, (nlines + 1) * sizeof *lines);
  char *copy = strdup(text);
  if (!more || !copy)
    abort();
  lines = more;
  lines[nlines++] = copy;
  return copy;
}

/* The script is at this line. */
void mg_check_at(const char *text)
{
  pthread_mutex_lock(&lock);
  here = line(text);
  pthread_mutex_unlock(&lock);
}

/* What was found since, a sentence to be told once; or NULL. */
const char *mg_check_found(char *text, uint32_t size)
{
  bool is_there = false;
  pthread_mutex_lock(&lock);
  if (found[0] && size > 0) {
    snprintf(text, size, "%s", found);
    found[0] = 0;
    is_there = true;
  }
  pthread_mutex_unlock(&lock);
  return is_there ? text : NULL;
}

static struct note **note_of(struct rte_mbuf *m)
{
  if (!m->pool || rte_pktmbuf_priv_size(m->pool) != PACKET_NOTES + MG_NOTE_BYTES)
    return NULL; /* of another's pool */
  return (struct note **)((char *)(m + 1) + PACKET_NOTES);
}

struct making {
  char *notes;
  size_t each;
};

static void set_note(struct rte_mempool *pool, void *making, void *m, unsigned i)
{
  (void)pool;
  const struct making *all = making;
  *note_of(m) = (struct note *)(all->notes + i * all->each);
}

/* Give each buffer of a new pool a note. Is there memory? */
bool mg_note_all(struct rte_mempool *pool, uint32_t n)
{
  uint32_t room = rte_pktmbuf_data_room_size(pool);
  struct making all = {.each = RTE_ALIGN(sizeof(struct note) + room, 8)};
  all.notes = calloc(n, all.each); /* for as long as the pool: for good */
  if (!all.notes)
    return false;
  rte_mempool_obj_iter(pool, set_note, &all);
  return true;
}

static void note(struct rte_mbuf *m, const char *what)
{
  struct note **n = note_of(m);
  if (!n || m->refcnt != 1 || m->nb_segs != 1)
    return;
  (*n)->at = here;
  (*n)->what = what;
  (*n)->offset = m->data_off;
  (*n)->length = m->data_len;
  memcpy((*n)->bytes, rte_pktmbuf_mtod(m, void *), m->data_len);
}

/* These go to a device. One that the device is to change (checksums, tags) isn't looked
 * at. */
void mg_note_sent(struct rte_mbuf **packets, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++)
    if (!(packets[i]->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK))
      note(packets[i], "sent");
}

/* It is freed. */
void mg_note_freed(struct rte_mbuf *m)
{
  note(m, "freed");
}

/* The device hasn't taken it: it is the script's again. */
void mg_note_kept(struct rte_mbuf *m)
{
  struct note **n = note_of(m);
  if (n)
    (*n)->at = NULL;
}

static void tell(const struct note *n, uint32_t i, uint8_t now)
{
  pthread_mutex_lock(&lock);
  if (!found[0])
    snprintf(found, sizeof found, "%s: a buffer that is %s here is written to afterwards: "
             "byte %u of it was 0x%02x and is 0x%02x now", n->at, n->what, i, n->bytes[i],
             now);
  pthread_mutex_unlock(&lock);
}

/* Is it as it was? */
static void compare(struct rte_mbuf *m)
{
  struct note **of = note_of(m), *n = of ? *of : NULL;
  if (!n || !n->at)
    return;
  const uint8_t *bytes = (uint8_t *)m->buf_addr + n->offset;
  if (memcmp(n->bytes, bytes, n->length)) {
    uint32_t i = 0;
    while (n->bytes[i] == bytes[i])
      i++;
    tell(n, i, bytes[i]);
  }
  n->at = NULL;
}

/* A script has these again, from their pool or received. */
void mg_note_back(struct rte_mbuf **packets, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++)
    compare(packets[i]);
}

static void compare_one(struct rte_mempool *pool, void *opaque, void *m, unsigned i)
{
  (void)pool, (void)opaque, (void)i;
  compare(m);
}

/* All tasks have ended: look at what of a pool wasn't used again. */
void mg_check_rest(void *pool)
{
  rte_mempool_obj_iter(pool, compare_one, NULL);
}
