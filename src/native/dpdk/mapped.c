/* SPDX-License-Identifier: Apache-2.0
 *
 * In which file the code is that an address points to, and how far from its begin in the file,
 * as addr2line(1) takes it. For handlers of signals: it takes no lock and no memory.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "clock.h"

enum { LONGEST_LINE = 512 };

static uintptr_t program_counter(const void *context)
{
#if defined __x86_64__
  return ((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
  return ((const ucontext_t *)context)->uc_mcontext.pc;
#else
  (void)context;
  return 0;
#endif
}

/* A hexadecimal number and the byte behind it. */
static uintptr_t number(const char **text)
{
  uintptr_t n = 0;
  for (; **text && **text != ' ' && **text != '-'; ++*text)
    n = n << 4 | (uintptr_t)(**text <= '9' ? **text - '0' : **text - 'a' + 10);
  *text += **text != '\0';
  return n;
}

/* FROM-TO PERMISSIONS OFFSET DEVICE INODE PATH (proc(5)): is `at` in it, in a file's code? */
static bool is_in(const char *line, uintptr_t at, char *text, size_t size)
{
  const char *slash = strchr(line, '/');
  uintptr_t from = number(&line), to = number(&line);
  line += strcspn(line, " ");
  line += *line == ' ';
  uintptr_t offset = number(&line);
  if (at < from || at >= to || !slash)
    return false;
  snprintf(text, size, "%s+0x%lx", strrchr(slash, '/') + 1,
           (unsigned long)(at - from + offset));
  return true;
}

bool pg_where_mapped(const void *context, char *text, size_t size)
{
  int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  uintptr_t at = program_counter(context);
  char line[LONGEST_LINE], c;
  size_t n = 0;
  bool found = false;
  while (maps >= 0 && !found && read(maps, &c, 1) == 1) {
    if (c != '\n') {
      n += n < sizeof line - 1;
      line[n - 1] = c;
      continue;
    }
    line[n] = '\0';
    found = is_in(line, at, text, size);
    n = 0;
  }
  if (maps >= 0)
    close(maps);
  return found;
}
