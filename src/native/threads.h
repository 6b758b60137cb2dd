/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that help others, and the CPUs that they may use (helper_threads.c). Plain
 * declarations: LuaJIT reads this file (core.declare).
 */
#pragma once

#include <stdint.h>

void pg_helper_thread(void);
void pg_helper_threads_on(const int32_t *cpus, int32_t n);
