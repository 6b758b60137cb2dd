/* SPDX-License-Identifier: Apache-2.0
 *
 * What measurements of different tasks share.
 */
#include "measure.h"

static int32_t counters;

int32_t mg_counter_new(void) { return __atomic_add_fetch(&counters, 1, __ATOMIC_RELAXED); }

int32_t mg_counters(void) { return __atomic_load_n(&counters, __ATOMIC_RELAXED); }

int32_t mg_first_time(int32_t told)
{
  static int32_t was[MG_TOLD];
  return told >= 0 && told < MG_TOLD && !__atomic_exchange_n(&was[told], 1, __ATOMIC_RELAXED);
}
