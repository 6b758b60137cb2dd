/* SPDX-License-Identifier: Apache-2.0
 *
 * A memif ring as a burst sees it. The peer can write to all of that memory at any time: a
 * descriptor, and a cursor, is read once, and what was read is looked at before it is used.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>

#include <rte_branch_prediction.h>

#include "state.h"

/* The most slots of a packet: peers' buffers have 2 KB, or so. */
enum { MOST_SLOTS = 256 };

/* What a descriptor says, as it was read. */
struct slot {
  uint8_t *at;
  uint32_t length;
  uint16_t region;
  bool goes_on;
};

/* The peer has lied: the hub lets it go. */
static inline void tell(struct session *s, enum fault f)
{
  int none = FAULT_NONE;
  if (atomic_compare_exchange_strong(&s->fault, &none, f))
    eventfd_write(s->wake, 1);
}

static inline uint16_t load(const uint16_t *cursor)
{
  return __atomic_load_n(cursor, __ATOMIC_ACQUIRE);
}

static inline void publish(uint16_t *cursor, uint16_t value)
{
  __atomic_store_n(cursor, value, __ATOMIC_RELEASE);
}

/* Read a slot; false if it lies. */
static inline bool look(struct session *s, const struct ring *r, uint16_t i,
                        struct slot *slot)
{
  const struct memif_descriptor *d = &r->descriptors[i & (r->size - 1)];
  uint64_t what = __atomic_load_n(&d->what, __ATOMIC_RELAXED);
  uint32_t offset = (uint32_t)__atomic_load_n(&d->where, __ATOMIC_RELAXED);
  uint16_t region = what >> 16;
  uint32_t length = what >> 32;
  if (unlikely(region >= s->regions)) {
    tell(s, FAULT_BAD_REGION);
    return false;
  }
  const struct region *in = &s->region[region];
  if (unlikely(offset > in->size || length > in->size - offset)) {
    tell(s, FAULT_BAD_PLACE);
    return false;
  }
  *slot = (struct slot){in->at + offset, length, region, what & MEMIF_NEXT};
  return true;
}

/* Has no memory of the session's gone? */
static inline bool is_whole(struct session *s)
{
  uint32_t cuts = atomic_load_explicit(&pg_memif_cuts, memory_order_relaxed);
  if (likely(cuts == s->cuts))
    return true;
  for (int i = 0; i < s->regions; i++)
    if (pg_memif_is_cut(&s->region[i])) {
      tell(s, FAULT_REGION_CUT);
      return false;
    }
  s->cuts = cuts; /* of others' */
  return true;
}

/* The session that a burst on this lane may use; then, or if it is NULL, leave(). */
static inline struct session *enter(struct lane *lane)
{
  if (unlikely(!rte_spinlock_trylock(&lane->lock)))
    return NULL; /* the peer is just coming or going */
  struct session *s = lane->session;
  if (likely(s && atomic_load_explicit(&s->fault, memory_order_relaxed) == FAULT_NONE))
    return s;
  rte_spinlock_unlock(&lane->lock);
  return NULL;
}

static inline void leave(struct lane *lane)
{
  rte_spinlock_unlock(&lane->lock);
}
