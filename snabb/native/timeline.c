/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts an event into a timeline's ring (snabb/core/timeline.lua).
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __x86_64__
#include <x86intrin.h>
#else
#include <rte_cycles.h>
#endif

#include "../../src/native/api.h"
#include "snabb.h"

static uint64_t time_and_cpu(uint32_t *cpu)
{
#ifdef __x86_64__
  return __rdtscp(cpu);
#else
  *cpu = (uint32_t)sched_getcpu();
  return rte_rdtsc();
#endif
}

/* Log the message and its arguments with the time and CPU, unless the timeline
 * asks for events of a higher rate. */
void pg_timeline_log(struct timeline_state *t, uint32_t rate, uint32_t msgid,
                     double arg0, double arg1, double arg2, double arg3,
                     double arg4, double arg5)
{
  if (rate < t->rate)
    return;
  struct timeline_entry *entry = &t->entries[t->next_entry];
  t->next_entry = t->next_entry + 1 == t->num_entries ? 0 : t->next_entry + 1;
  uint32_t cpu;
  uint64_t tsc = time_and_cpu(&cpu);
  *entry = (struct timeline_entry){
    .tsc = (double)tsc, .msgid = (uint16_t)msgid, .core_numa = (uint16_t)cpu,
    .arg = {arg0, arg1, arg2, arg3, arg4, arg5}};
}
