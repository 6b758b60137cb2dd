/* SPDX-License-Identifier: Apache-2.0
 *
 * Where an engine is: which of a breath's calls it makes, and in compiled code, at which
 * line. What is asked in a signal's handler takes no lock and no memory.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "../api.h"
#include "clock.h"
#include "internal.h"

enum {
  TRACES = 20001,            /* as many as LuaJIT makes (core/main.lua), and one */
  STACK_WORDS = 512          /* looked through for an address in compiled code */
};

/* Compiled code, by number of its trace. */
struct trace {
  uintptr_t from;
  uint32_t size;
  char *line, *app;
};

/* The calls of a breath -------------------------------------------------------- */

struct at_work *pg_at_work(void)
{
  return &pg_reader->work;
}

/* What the calls of a breath are, from number 1 on, each a line. */
void pg_watch_calls(const char *calls)
{
  char *copy = strdup(calls);
  pthread_mutex_lock(&pg_readers_lock);
  const char *before = pg_reader->calls;
  pg_reader->calls = copy;
  pthread_mutex_unlock(&pg_readers_lock);
  free((void *)before);
}

void pg_what_call(const struct reader *r, const char *app, char *text, int size)
{
  static const char other[] = "the program, in a timer or in what engine.main asks";
  const char *line = r->calls;
  int32_t call = r->work.call;
  for (int32_t i = 1; i < call && line; i++) {
    line = strchr(line, '\n');
    line = line ? line + 1 : NULL;
  }
  if (!call || !line)
    snprintf(text, size, "%s", other);
  else if (app && *app && strncmp(line, "app ", 4) != 0)
    snprintf(text, size, "app '%s': in process()", app);
  else
    snprintf(text, size, "%.*s", (int)strcspn(line, "\n"), line);
}

/* Compiled code --------------------------------------------------------------- */

/* Trace `number` of this thread's Lua state, begun at `line` for `app` (or ""), is
 * machine code of `size` bytes from `from` on. */
void pg_watch_trace(int32_t number, double from, double size, const char *line,
                    const char *app)
{
  if (!pg_reader->traces)
    pg_reader->traces = calloc(TRACES, sizeof *pg_reader->traces);
  if (!pg_reader->traces || number < 0 || number >= TRACES)
    return;
  struct trace *t = &pg_reader->traces[number];
  t->size = 0;
  free(t->line);
  free(t->app);
  t->line = strdup(line);
  t->app = strdup(app);
  t->from = (uintptr_t)from;
  t->size = t->line && t->app ? size : 0;
}

/* All traces are gone. */
void pg_watch_flush(void)
{
  for (int i = 0; pg_reader->traces && i < TRACES; i++)
    pg_reader->traces[i].size = 0;
}

static const struct trace *trace_at(const struct reader *r, uintptr_t pc)
{
  for (int i = 0; r->traces && i < TRACES; i++)
    if (pc - r->traces[i].from < r->traces[i].size)
      return &r->traces[i];
  return NULL;
}

/* The trace at work, also if it has called a C function: its frame is on the stack. */
static const struct trace *trace_of(const struct reader *r, const ucontext_t *context)
{
#ifdef __x86_64__
  uintptr_t pc = context->uc_mcontext.gregs[REG_RIP];
  uintptr_t sp = context->uc_mcontext.gregs[REG_RSP] & ~(uintptr_t)7;
#else
  uintptr_t pc = context->uc_mcontext.pc, sp = context->uc_mcontext.sp & ~(uintptr_t)7;
#endif
  const struct trace *t = trace_at(r, pc);
  const uintptr_t *word = (const uintptr_t *)sp;
  for (int i = 0; !t && r->traces && i < STACK_WORDS && (uintptr_t)word < r->stack_end;
       i++)
    t = trace_at(r, *word++);
  return t;
}

bool pg_where_compiled(const struct reader *r, const void *context, const char **line,
                       const char **app)
{
  const struct trace *t = context ? trace_of(r, context) : NULL;
  if (!t)
    return false;
  *line = t->line;
  *app = t->app;
  return true;
}

void pg_watch_leave(void)
{
  struct reader *r = pg_reader;
  for (int i = 0; r->traces && i < TRACES; i++) {
    free(r->traces[i].line);
    free(r->traces[i].app);
  }
  free(r->traces);
  free((void *)r->calls);
  r->traces = NULL;
  r->calls = NULL;
}
