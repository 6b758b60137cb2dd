/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals of threads that are made here. Those from outside are the main thread's. What a
 * thread causes itself stays open to it: Linux ends the process if that is blocked, and
 * no handler is asked (a memif peer's file that was cut beneath its mapping: SIGBUS).
 */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

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

/* pthread_create() of a thread with no other signals than these: 0, or its error. */
static inline int pg_thread_start(pthread_t *thread, const pthread_attr_t *attributes,
                                  void *(*run)(void *), void *arg)
{
  sigset_t before;
  pg_signals_of_own_faults(&before);
  int error = pthread_create(thread, attributes, run, arg);
  pg_signals_as(&before);
  return error;
}

/* The same on any CPU of the process's: its creator may keep one busy. */
static inline int pg_thread_start_anywhere(pthread_t *thread, void *(*run)(void *),
                                           void *arg)
{
  pthread_attr_t attributes;
  cpu_set_t cpus;
  pthread_attr_init(&attributes);
  if (sched_getaffinity(getpid(), sizeof cpus, &cpus) == 0)
    pthread_attr_setaffinity_np(&attributes, sizeof cpus, &cpus);
  int error = pg_thread_start(thread, &attributes, run, arg);
  pthread_attr_destroy(&attributes);
  return error;
}
