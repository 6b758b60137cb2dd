/* SPDX-License-Identifier: Apache-2.0
 *
 * What measurements of different tasks share: plain declarations, which LuaJIT reads
 * (core.declare).
 */
#pragma once

#include <stdint.h>

/* The number of a new counter, from 1 on; and how many there are. */
int32_t mg_counter_new(void);
int32_t mg_counters(void);

/* Is there a web server, which counters tell of their updates? `begins`: from now on. */
int32_t mg_web_server(int32_t begins);

/* What is told once in a process. */
enum mg_told { MG_STAMPS_OF_ALL, MG_STAMPS_BY_CPU, MG_TOLD };

/* 1 for the first who asks, else 0. */
int32_t mg_first_time(int32_t told);
