/* SPDX-License-Identifier: Apache-2.0
 *
 * A session with a memif peer: its regions and rings. A server takes them from messages,
 * and looks at all of it before the first packet; a client makes them, and believes nothing
 * that it reads there afterwards.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "state.h"

static const struct { const char *name, *text; } faults[FAULTS] = {
#define DESCRIBE(name, word, sentence) [FAULT_##name] = {word, sentence},
  MEMIF_FAULTS(DESCRIBE)
#undef DESCRIBE
};

const char *pg_memif_fault_name(enum fault f)
{
  return faults[f].name;
}

const char *pg_memif_fault_text(enum fault f)
{
  return faults[f].text;
}

struct session *pg_memif_session(bool serves, int wake)
{
  struct session *s = calloc(1, sizeof *s);
  if (!s)
    return NULL;
  s->serves = serves;
  s->wake = wake;
  for (int i = 0; i < MOST_QUEUES; i++)
    s->receive[i].bell = s->send[i].bell = -1;
  return s;
}

void pg_memif_session_free(struct session *s)
{
  if (!s)
    return;
  for (int i = 0; i < MOST_QUEUES; i++) {
    if (s->receive[i].bell >= 0)
      close(s->receive[i].bell);
    if (s->send[i].bell >= 0)
      close(s->send[i].bell);
  }
  for (int i = 0; i < s->regions; i++)
    pg_memif_leave(&s->region[i]);
  free(s);
}

/* The ring `i` in that direction, as the client sees it. */
struct ring *pg_memif_ring_of(struct session *s, bool c2s, uint16_t i)
{
  return c2s == s->serves ? &s->receive[i] : &s->send[i];
}

static uint64_t ring_bytes(uint32_t size)
{
  return sizeof(struct memif_ring) + (uint64_t)size * sizeof(struct memif_descriptor);
}

/* Of a server ---------------------------------------------------------------------- */

/* Takes the descriptor, and leaves -1, if it is to stay open. */
enum fault pg_memif_add_region(struct session *s, const struct memif_message *m, int *fd)
{
  if (m->add_region.index != s->regions || s->regions >= MOST_REGIONS)
    return FAULT_REGION_NUMBER;
  struct region *r = &s->region[s->regions];
  enum fault f = pg_memif_adopt(r, *fd, m->add_region.size);
  if (f)
    return f;
  if (s->regions++ < KEPT_FILES) {
    r->file = *fd;
    *fd = -1;
  }
  return FAULT_NONE;
}

/* Takes the descriptor, and leaves -1, if all is well. */
enum fault pg_memif_add_ring(struct session *s, const struct memif_message *m, int *fd,
                             uint16_t most)
{
  bool c2s = m->add_ring.flags & MEMIF_C2S;
  uint16_t *count = c2s ? &s->receives : &s->sends;
  if (m->add_ring.index != *count || *count >= most)
    return FAULT_RING_NUMBER;
  if (m->add_ring.log2 < LEAST_LOG2 || m->add_ring.log2 > MOST_LOG2)
    return FAULT_RING_SIZE;
  if (m->add_ring.private_bytes != 0)
    return FAULT_RING_PLACE;
  if (!pg_memif_is_bell(*fd))
    return FAULT_RING_EVENT;
  struct ring *r = pg_memif_ring_of(s, c2s, (*count)++);
  r->size = 1u << m->add_ring.log2;
  r->region = m->add_ring.region;
  r->offset = m->add_ring.offset;
  r->bell = *fd;
  *fd = -1;
  return FAULT_NONE;
}

/* Find a ring that was told of. */
enum fault pg_memif_find_ring(const struct session *s, struct ring *r)
{
  const struct region *in = &s->region[r->region];
  uint64_t bytes = ring_bytes(r->size);
  if (r->region >= s->regions || r->offset % sizeof(uint64_t) != 0 || bytes > in->size ||
      r->offset > in->size - bytes)
    return FAULT_RING_PLACE;
  r->shared = (struct memif_ring *)(in->at + r->offset);
  r->descriptors = r->shared->descriptors;
  return __atomic_load_n(&r->shared->cookie, __ATOMIC_RELAXED) != MEMIF_COOKIE
           ? FAULT_RING_COOKIE
           : FAULT_NONE;
}

static enum fault find_new_ring(const struct session *s, struct ring *r)
{
  enum fault f = pg_memif_find_ring(s, r);
  if (f)
    return f;
  __atomic_store_n(&r->shared->head, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&r->shared->tail, 0, __ATOMIC_RELAXED);
  return FAULT_NONE;
}

/* We look for packets by ourselves, and needn't be woken. */
void pg_memif_be_quiet(struct session *s)
{
  for (int i = 0; i < s->receives; i++)
    __atomic_store_n(&s->receive[i].shared->flags, MEMIF_QUIET, __ATOMIC_RELAXED);
}

/* Find the rings that were told of, in the regions that there are. */
enum fault pg_memif_find_rings(struct session *s)
{
  enum fault f = s->receives && s->sends ? FAULT_NONE : FAULT_RING_NONE;
  for (int i = 0; i < s->receives && !f; i++)
    f = find_new_ring(s, &s->receive[i]);
  for (int i = 0; i < s->sends && !f; i++)
    f = find_new_ring(s, &s->send[i]);
  if (!f)
    pg_memif_be_quiet(s);
  return f;
}

/* Of a client ---------------------------------------------------------------------- */

static void place_ring(struct session *s, struct ring *r, uint16_t number, uint8_t log2,
                       uint64_t buffers)
{
  r->size = 1u << log2;
  r->offset = number * ring_bytes(r->size);
  r->first = buffers + (uint64_t)number * r->size * s->buffer;
}

/* Where so many rings of that size, and the buffers of each, lie in a client's region, the
 * rings first: how many bytes it has. */
uint64_t pg_memif_place_rings(struct session *s, uint16_t c2s, uint16_t s2c, uint8_t log2)
{
  uint64_t rings = c2s + s2c, size = UINT64_C(1) << log2;
  uint64_t buffers = RTE_ALIGN_CEIL(rings * ring_bytes(size), 64);
  for (int i = 0; i < c2s; i++)
    place_ring(s, &s->send[i], i, log2, buffers);
  for (int i = 0; i < s2c; i++)
    place_ring(s, &s->receive[i], c2s + i, log2, buffers);
  return buffers + rings * size * s->buffer;
}

static bool make_ring(struct session *s, struct ring *r)
{
  r->shared = (struct memif_ring *)(s->region[0].at + r->offset);
  r->descriptors = r->shared->descriptors;
  r->shared->cookie = MEMIF_COOKIE;
  for (uint32_t i = 0; i < r->size; i++) {
    r->descriptors[i].what = (uint64_t)s->buffer << 32;
    r->descriptors[i].where = r->first + i * s->buffer;
  }
  r->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return r->bell >= 0;
}

/* Make a session for a server that takes so many rings of that size; NULL and errno. */
struct session *pg_memif_offer(const struct memif_options *o, uint16_t c2s, uint16_t s2c,
                               uint8_t log2, int wake)
{
  struct session *s = pg_memif_session(false, wake);
  if (!s)
    return NULL;
  s->buffer = o->buffer;
  uint64_t bytes = pg_memif_place_rings(s, c2s, s2c, log2);
  if (bytes > UINT32_MAX) {
    errno = EFBIG; /* offsets have 32 bits */
    goto bad;
  }
  if (pg_memif_share(&s->region[0], bytes) < 0)
    goto bad;
  s->regions = 1;
  for (; s->sends < c2s; s->sends++)
    if (!make_ring(s, &s->send[s->sends]))
      goto bad;
  for (; s->receives < s2c; s->receives++)
    if (!make_ring(s, &s->receive[s->receives]))
      goto bad;
  pg_memif_be_quiet(s);
  return s;
bad:;
  int error = errno;
  pg_memif_session_free(s);
  errno = error;
  return NULL;
}

/* Give the server all buffers to send by. It set the cursors to 0 before it answered, and
 * may lose what it has no buffer for: so before it can have our first packet. */
void pg_memif_give_buffers(struct session *s)
{
  for (int i = 0; i < s->receives; i++) {
    struct ring *r = &s->receive[i];
    r->tail = r->size;
    __atomic_store_n(&r->shared->head, r->tail, __ATOMIC_RELEASE);
  }
}
