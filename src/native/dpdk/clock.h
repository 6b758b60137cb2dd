/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads that run an engine. Each counts how often it looks at its clock
 * (clock.c); the watchdog compares (watchdog.c). It and signals ask what they are at
 * (backtrace.c).
 */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>

#include "../api.h"

struct lua_State;
struct trace;

struct reader {
  uint64_t looks;              /* at the clock */
  int32_t watched;             /* by the watchdog */
  int32_t asleep;              /* in pg_sleep or pg_wait */
  int32_t bell;                /* rung to wake it (wait.c); 0: it has none yet */
  struct at_work work;
  struct reader *next;

  struct worker *worker;       /* whose thread it is; NULL: the main thread */
  struct lua_State *lua;
  pthread_t thread;
  int32_t tid;
  clockid_t cpu_clock;         /* of the thread */
  const char *calls;           /* what the calls of a breath are, a line each */
  struct trace *traces;        /* compiled code, by number of the trace */
  uintptr_t stack_end;

  uint64_t seen, cpu_ns;       /* as of the watchdog's last look */
  uint64_t stalled_ns;         /* that it could have gone on, without progress */
  int32_t strikes;             /* looks in a row at which it could have */
  uint64_t interrupted_at;     /* value of `looks`; 0: not interrupted */
  char where[400];             /* found by the thread itself when interrupted */
} __rte_cache_aligned;

/* The readers there are, while one has the lock; and that of this thread. */
extern struct reader *pg_readers;
extern struct reader pg_main_reader;
extern pthread_mutex_t pg_readers_lock;
extern _Thread_local struct reader *pg_reader;

/* wait.c: the bell of this thread, to be rung by others; close it as the thread ends. */
int pg_wait_bell(void);
void pg_wait_ring(int bell);
void pg_wait_leave(void);

/* What the reader's engine is calling ("app 'x': in push()"), into `text`. What `app`
 * (or NULL) is known to be the app of takes the place of a region's. */
void pg_what_call(const struct reader *r, const char *app, char *text, int size);

/* Where in compiled code the thread is that a signal's context is of: "FILE:LINE", and
 * the app it was compiled for, or "". False if it isn't in compiled code. */
bool pg_where_compiled(const struct reader *r, const void *context, const char **line,
                       const char **app);

/* The same of code in a file, "FILE+0xOFFSET" into `text`: mapped.c. */
bool pg_where_mapped(const void *context, char *text, size_t size);

/* Put the terminal back as it was when signals were first caught (signals.c). */
void pg_restore_terminal(void);

/* End the process with this status, its standard output written if that is possible. */
_Noreturn void pg_end(int status);
