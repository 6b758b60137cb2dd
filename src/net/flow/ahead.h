/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that touches memory before a packet's thread does (ahead.c).
 */
#pragma once

#include <stdint.h>

void pg_flow_touch_begin(void);
void pg_flow_touch(uint8_t *at, uint64_t bytes);
void pg_flow_touch_ahead(uint8_t *at, uint64_t bytes);
void pg_flow_touch_forget(uint8_t *at, uint64_t bytes);
