/* SPDX-License-Identifier: Apache-2.0
 *
 * What changes.c and edit.c share.
 */
#pragma once

#include "stream.h"

/* How many changes end at `seq` or before. */
uint32_t stream_changes_up_to(const struct stream_changes *c, uint32_t seq);

/* How many bytes more the changes of all streams may take. */
uint32_t stream_memory_left(void);

/* realloc() within this limit, of what had `from` bytes. NULL: there is no memory. */
void *stream_memory(void *old, uint32_t from, uint32_t to);

/* Give the memory of its bytes back. */
void stream_change_release(struct stream_changes *c, struct stream_change *x);

static inline const uint8_t *stream_change_bytes(const struct stream_change *x)
{
  return x->fresh > sizeof x->near ? x->far : x->near;
}
