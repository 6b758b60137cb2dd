/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays in pages of their own: zeros that cost nothing until they are touched, and
 * that move without being copied.
 *
 * Those that packets look into may lie in huge pages, where the kernel has some, and
 * begin with one, so that it moves them as they are. But each first touch of one takes
 * milliseconds where the memory is new to a virtual machine, and packets wait for that.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { PAGES_HUGE = 2 << 20 };

/* So many bytes of zeros; NULL if there is no memory. */
static inline void *pages_map(size_t bytes, int protection)
{
  void *p = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

static inline void pages_free(void *p, size_t bytes)
{
  if (p)
    munmap(p, bytes);
}

/* The same, at a multiple of a huge page. */
static inline void *pages_map_aligned(size_t bytes, int protection)
{
  uint8_t *p = pages_map(bytes + PAGES_HUGE, protection);
  if (!p)
    return NULL;
  size_t before = -(uintptr_t)p % PAGES_HUGE;
  if (before > 0)
    munmap(p, before);
  munmap(p + before + bytes, PAGES_HUGE - before);
  return p + before;
}

/* Zeros; NULL if there is no memory. */
static inline void *pages_new(size_t bytes)
{
  return pages_map(bytes, PROT_READ | PROT_WRITE);
}

/* The same array, larger, with zeros behind; NULL, and it is as before. */
static inline void *pages_grow(void *old, size_t old_bytes, size_t bytes)
{
  if (!old)
    return pages_new(bytes);
  void *p = mremap(old, old_bytes, bytes, MREMAP_MAYMOVE);
  return p == MAP_FAILED ? NULL : p;
}

/* Zeros, in huge pages if they are many; NULL if there is no memory. */
static inline void *huge_pages_new(size_t bytes)
{
  if (bytes < PAGES_HUGE)
    return pages_new(bytes);
  void *p = pages_map_aligned(bytes, PROT_READ | PROT_WRITE);
  if (p)
    madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

/* The same array in huge pages, larger; NULL, and it is as before. */
static inline void *huge_pages_grow(void *old, size_t old_bytes, size_t bytes)
{
  if (!old)
    return huge_pages_new(bytes);
  if (bytes < PAGES_HUGE)
    return pages_grow(old, old_bytes, bytes);
  void *to = pages_map_aligned(bytes, PROT_NONE);
  if (!to)
    return NULL;
  void *p = mremap(old, old_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to);
  if (p == MAP_FAILED)
    return NULL; /* nothing is mapped at `to` any more, but by another thread */
  madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}
