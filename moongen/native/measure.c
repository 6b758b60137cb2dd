/* SPDX-License-Identifier: Apache-2.0
 *
 * What measurements of different tasks share.
 */
#include "measure.h"

static int32_t counters;

int32_t mg_counter_new(void) { return __atomic_add_fetch(&counters, 1, __ATOMIC_RELAXED); }

int32_t mg_counters(void) { return __atomic_load_n(&counters, __ATOMIC_RELAXED); }

int32_t mg_web_server(int32_t begins)
{
  static int32_t runs;
  if (begins)
    __atomic_store_n(&runs, 1, __ATOMIC_RELEASE);
  return __atomic_load_n(&runs, __ATOMIC_ACQUIRE);
}

int32_t mg_first_time(int32_t told)
{
  static int32_t was[MG_TOLD];
  return told >= 0 && told < MG_TOLD && !__atomic_exchange_n(&was[told], 1, __ATOMIC_RELAXED);
}
