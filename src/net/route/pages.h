/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays in pages of their own: zeros that cost nothing until they are touched, and
 * that move without being copied.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

static inline void pages_free(void *p, size_t bytes)
{
  if (p)
    munmap(p, bytes);
}

/* Zeros; NULL if there is no memory. */
static inline void *pages_new(size_t bytes)
{
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

/* The same array, larger, with zeros behind; NULL, and it is as before. */
static inline void *pages_grow(void *old, size_t old_bytes, size_t bytes)
{
  if (!old)
    return pages_new(bytes);
  void *p = mremap(old, old_bytes, bytes, MREMAP_MAYMOVE);
  return p == MAP_FAILED ? NULL : p;
}
