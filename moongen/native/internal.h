/* SPDX-License-Identifier: Apache-2.0
 *
 * What the C files of this family share.
 *
 * A buffer's field `port` says what it is at the moment, which costs little as its
 * cache line is written anyway: allocated or received (a script may send or free it), or,
 * with the bit MG_GONE, sent or freed. So a buffer that is sent twice is found, unless
 * its pool has allocated it again meanwhile. Those that DPDK has allocated for others
 * have RTE_MBUF_PORT_INVALID, and may be sent.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_pause.h>

#include "../../src/native/spin.h"
#include "moongen.h"

enum { MG_OWNED = 0x7ffe, MG_GONE = 0x8000 };

/* Bytes that each buffer of a script has at least: whatever headers it takes a packet for
 * are in it. */
enum { MG_LEAST_ROOM = 512 };

static inline bool mg_is_gone(const struct rte_mbuf *m)
{
  return (m->port & MG_GONE) && m->port != RTE_MBUF_PORT_INVALID && m->refcnt == 1;
}

/* It is sent or freed, unless there are other references to it. */
static inline void mg_note_gone(struct rte_mbuf *m)
{
  if (m->refcnt == 1)
    m->port = MG_OWNED | MG_GONE;
}

/* Set while more tasks run than there are CPUs: who waits lets others run. */
extern int32_t mg_more_tasks_than_cpus;

/* A poll that found nothing, for the `n`th time in a row. */
static inline void mg_idle(uint32_t n)
{
  if (mg_more_tasks_than_cpus && n % 8 == 0)
    sched_yield();
  else
    rte_pause();
}

/* Has the script been told to end for so many seconds? (lifecycle.c) */
bool mg_ended_for(double seconds);

/* This thread has waited for so long (TSC), as its script asked. */
void mg_note_wait(uint64_t cycles);

/* Buffers that threads keep at hand are wanted: how often that was, and how often this
 * thread gave its own (memory.c). Whatever a script calls often looks after it. */
extern uint32_t mg_caches_wanted;
extern _Thread_local uint32_t mg_caches_given;

static inline void mg_look_after_caches(void)
{
  if (__builtin_expect(__atomic_load_n(&mg_caches_wanted, __ATOMIC_RELAXED) !=
                         mg_caches_given, 0))
    mg_give_caches();
}

/* This thread uses the queue. Two that do so in turn are warned of (script/warnings.lua):
 * counts and schedules of a queue are one thread's (lifecycle.c). */
extern _Thread_local int32_t mg_this_user;
void mg_note_user(struct mg_queue *q);

static inline void mg_use(struct mg_queue *q)
{
  if (__builtin_expect(q->user != mg_this_user || !mg_this_user, 0))
    mg_note_user(q);
}

