/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that help others, and the CPUs that they may use (helper_threads.c). Plain
 * declarations: LuaJIT reads this file (core.declare).
 */
#pragma once

#include <stdint.h>

void pg_helper_thread(void);
void pg_helper_threads_on(const int32_t *cpus, int32_t n);

/* A lock that is held for the time of a burst (spin.h): an int, 0 at first. */
void pg_lock(int32_t *lock);
void pg_unlock(int32_t *lock);
