/* SPDX-License-Identifier: Apache-2.0
 *
 * A lock that is held for the time of a burst or of a look-up. 0 is free. Its holder may
 * lose the CPU: who waits gives up its own now and then.
 */
#pragma once

#include <sched.h>
#include <stdint.h>

#include <rte_pause.h>

static inline void pg_spin_lock(int32_t *lock)
{
  for (unsigned tries = 1; __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE); tries++)
    if (tries % 64)
      rte_pause();
    else
      sched_yield();
}

static inline void pg_spin_unlock(int32_t *lock)
{
  __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}
