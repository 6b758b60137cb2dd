/* SPDX-License-Identifier: Apache-2.0
 *
 * A link's cursors, for C that moves bursts through it or past it.
 */
#pragma once

#include <stdint.h>

#include "api.h"

/* Packets in the link's ring. */
static inline uint32_t waiting(const struct link *link)
{
  return (uint32_t)link->write - (uint32_t)link->read;
}

/* Let as many packets be written as the ring has room for. */
static inline void set_limit(struct link *link)
{
  link->limit = (int32_t)((uint32_t)link->read + LINK_MAX_PACKETS);
}

/* `n` packets were taken from the ring. */
static inline void taken(struct link *link, uint32_t n)
{
  link->read += n;
  set_limit(link);
}

/* `n` packets went past the ring, which is empty. */
static inline void passed(struct link *link, uint32_t n)
{
  link->write = (int32_t)((uint32_t)link->write + n);
  taken(link, n);
}

/* Bytes of `n` packets together. */
static inline int64_t length_of(struct packet *const *packets, int n)
{
  int64_t bytes = 0;
  for (int i = 0; i < n; i++)
    bytes += packets[i]->length;
  return bytes;
}
