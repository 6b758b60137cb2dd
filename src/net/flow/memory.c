/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays that grow where they are: address space is reserved for the most that they may
 * need, which costs nothing. The first 2 MB are in small pages, what is behind in large
 * ones where the kernel has some: look-ups in small ones take half as long again. A large
 * page that is new to a virtual machine takes milliseconds, so another thread touches
 * it before it is needed; of files, too (ahead.c).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ahead.h"
#include "flow.h"

enum {
  HUGE = 2 << 20, STEP = 1 << 20, AHEAD = 4 << 20, PAGE = 4096,
  FILE_STEP = 64 << 10 /* the kernel clears it while a packet waits */
};

static uint64_t rounded(uint64_t bytes, uint64_t to)
{
  return (bytes + to - 1) / to * to;
}

/* Room for so many bytes; false if there is none. */
bool pg_flow_memory_reserve(struct flow_memory *m, uint64_t bytes)
{
  return pg_flow_memory_reserve_for(m, bytes, 0);
}

/* The same of what may lie in a file from `begin` on, a multiple of a page: with large
 * pages where the file has them. */
bool pg_flow_memory_reserve_for(struct flow_memory *m, uint64_t bytes, uint64_t begin)
{
  uint64_t size = rounded(bytes, PAGE), extra = size >= HUGE ? HUGE : 0;
  uint8_t *p = mmap(NULL, size + extra, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return false;
  if (extra) { /* where a huge page begins, or as much behind it as in the file */
    uint64_t before = (begin - (uintptr_t)p) % HUGE;
    if (before)
      munmap(p, before);
    if (before < extra)
      munmap(p + before + size, extra - before);
    p += before;
  }
  madvise(p, size, MADV_NOHUGEPAGE);
  if (extra && size > extra) {
    madvise(p + extra, size - extra, MADV_HUGEPAGE);
    pg_flow_touch_begin();
  }
  *m = (struct flow_memory){p, size, size < STEP ? size : STEP, HUGE, 0, 0};
  return true;
}

/* Large pages of the file behind what is usable, one after the other. */
static void fill_ahead(struct flow_memory *m)
{
  if (m->usable < STEP)
    return;
  if (m->asked < HUGE)
    m->asked = HUGE + -((uintptr_t)m->at + HUGE) % HUGE;
  uint64_t end = m->usable + AHEAD < m->reserved ? m->usable + AHEAD : m->reserved;
  for (; m->asked + HUGE <= end; m->asked += HUGE)
    pg_flow_fill_ahead(m, m->asked, HUGE);
}

/* A full disk is an error here, not a signal where the memory is used. */
static bool extend_file(struct flow_memory *m, uint64_t bytes)
{
  if (bytes > m->reserved)
    bytes = m->reserved;
  int error;
  do
    error = posix_fallocate(m->file - 1, (off_t)(m->begin + m->usable),
                            (off_t)(bytes - m->usable));
  while (error == EINTR);
  if (error) {
    pg_flow_note_no_room(error);
    errno = error;
    return false;
  }
  m->usable = bytes;
  return true;
}

/* At least so many bytes are usable now; false if they are more than was reserved. What
 * comes next is asked for. */
bool pg_flow_memory_extend(struct flow_memory *m, uint64_t bytes)
{
  if (bytes <= m->usable)
    return true;
  if (bytes > m->reserved)
    return false;
  if (m->file) {
    bool done = extend_file(m, rounded(bytes, FILE_STEP));
    fill_ahead(m);
    return done;
  }
  m->usable = rounded(bytes, STEP);
  uint64_t to = (m->usable + AHEAD) / HUGE * HUGE;
  if (m->usable > m->reserved)
    m->usable = m->reserved;
  if (to > m->reserved)
    to = m->reserved;
  for (; m->asked < to; m->asked += HUGE) {
    uint64_t size = to - m->asked < HUGE ? to - m->asked : HUGE;
    pg_flow_touch_ahead(m->at + m->asked, size);
  }
  return true;
}

/* So many bytes are there from now on: no packet waits for their pages. */
void pg_flow_memory_prepare(struct flow_memory *m, uint64_t bytes)
{
  if (bytes > m->reserved)
    bytes = m->reserved;
  if (m->file && !pg_flow_memory_extend(m, bytes))
    return;
  if (bytes > HUGE && !m->file)
    madvise(m->at, HUGE, MADV_HUGEPAGE);
  pg_flow_touch(m->at, bytes);
  if (m->asked < bytes)
    m->asked = rounded(bytes, HUGE);
  if (m->usable < bytes)
    m->usable = bytes;
}

void pg_flow_memory_free(struct flow_memory *m)
{
  if (m->at) {
    pg_flow_touch_forget(m->at, m->reserved);
    munmap(m->at, m->reserved);
  }
  if (m->file)
    close(m->file - 1);
  *m = (struct flow_memory){0};
}

static bool write_all(int file, const uint8_t *from, uint64_t bytes, uint64_t at)
{
  while (bytes > 0) {
    ssize_t n = pwrite(file, from, bytes, (off_t)at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    from += n;
    bytes -= (uint64_t)n;
    at += (uint64_t)n;
  }
  return true;
}

/* The array, of which the first `bytes` are in use, lies in a file from `begin` (a
 * multiple of a page) on from now on, and at its address. False, with errno, if that
 * can't be: then nothing has changed. */
bool pg_flow_memory_share(struct flow_memory *m, uint64_t bytes, int32_t file,
                          uint64_t begin)
{
  struct flow_memory shared = {.at = m->at, .reserved = m->reserved, .begin = begin};
  int own = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (own < 0)
    return false;
  shared.file = own + 1;
  void *p = MAP_FAILED;
  if (extend_file(&shared, rounded(bytes, FILE_STEP)) &&
      write_all(own, m->at, bytes, begin))
    p = mmap(NULL, m->reserved, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, own,
             (off_t)begin);
  if (p != MAP_FAILED) {
    pg_flow_touch_forget(m->at, m->reserved);
    if (mremap(p, m->reserved, m->reserved, MREMAP_MAYMOVE | MREMAP_FIXED, m->at)
        != MAP_FAILED) {
      if (m->file)
        close(m->file - 1);
      *m = shared;
      return true;
    }
    munmap(p, m->reserved);
  }
  int error = errno;
  close(own);
  errno = error;
  return false;
}
