/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals of threads that are made here. Those from outside are the main thread's. What a
 * thread causes itself stays open to it: Linux ends the process if that is blocked, and
 * no handler is asked (a memif peer's file that was cut beneath its mapping: SIGBUS).
 */
#pragma once

#include <pthread.h>
#include <signal.h>

/* For a thread that is now made; `before` is to be set again by pg_signals_as(). */
static inline void pg_signals_of_own_faults(sigset_t *before)
{
  static const int own[] = {SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
  sigset_t others;
  sigfillset(&others);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    sigdelset(&others, own[i]);
  pthread_sigmask(SIG_SETMASK, &others, before);
}

static inline void pg_signals_as(const sigset_t *before)
{
  pthread_sigmask(SIG_SETMASK, before, NULL);
}
