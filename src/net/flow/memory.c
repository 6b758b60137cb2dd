/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays that grow where they are: address space is reserved for the most that they may
 * need, which costs nothing, and becomes memory in steps. A page is zeros, and touched
 * for the first time when it is needed. The first 2 MB are in small pages, what is behind
 * in large ones where the kernel has some: look-ups in small ones take half as long
 * again. But a large page that is new to a virtual machine takes milliseconds.
 */
#include <stddef.h>
#include <sys/mman.h>

#include "flow.h"

enum { HUGE = 2 << 20, STEP = 2 << 20, PAGE = 4096 };

static uint64_t rounded(uint64_t bytes, uint64_t to)
{
  return (bytes + to - 1) / to * to;
}

/* Room for so many bytes; false if there is none. */
bool pg_flow_memory_reserve(struct flow_memory *m, uint64_t bytes)
{
  uint64_t size = rounded(bytes, PAGE), extra = size >= HUGE ? HUGE : 0;
  uint8_t *p = mmap(NULL, size + extra, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return false;
  if (extra) { /* at a multiple of a huge page */
    uint64_t before = -(uintptr_t)p % HUGE;
    if (before)
      munmap(p, before);
    munmap(p + before + size, extra - before);
    p += before;
  }
  if (extra && size > extra)
    madvise(p + extra, size - extra, MADV_HUGEPAGE);
  *m = (struct flow_memory){p, size, 0};
  return true;
}

/* At least so many bytes are usable now; false if there is no memory for them, or they
 * are more than was reserved. */
bool pg_flow_memory_extend(struct flow_memory *m, uint64_t bytes)
{
  if (bytes <= m->usable)
    return true;
  if (bytes > m->reserved)
    return false;
  uint64_t to = rounded(bytes, STEP);
  if (to > m->reserved)
    to = m->reserved;
  if (mprotect(m->at + m->usable, to - m->usable, PROT_READ | PROT_WRITE) != 0)
    return false;
  m->usable = to;
  return true;
}

/* The same, and they are there: no packet waits for their pages. As far as there is
 * memory. */
void pg_flow_memory_prepare(struct flow_memory *m, uint64_t bytes)
{
  if (bytes > m->reserved)
    bytes = m->reserved;
  if (!pg_flow_memory_extend(m, bytes))
    return;
  if (bytes >= HUGE)
    madvise(m->at, bytes / HUGE * HUGE, MADV_HUGEPAGE);
  for (uint64_t i = 0; i < bytes; i += PAGE) {
    volatile uint8_t *byte = m->at + i;
    *byte = *byte;
  }
}

void pg_flow_memory_free(struct flow_memory *m)
{
  if (m->at)
    munmap(m->at, m->reserved);
  *m = (struct flow_memory){0};
}
