/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that touches memory before a packet's thread does (ahead.c).
 */
#pragma once

#include <stdint.h>

#include "flow.h"

void pg_flow_touch_begin(void);
void pg_flow_touch(uint8_t *at, uint64_t bytes);
void pg_flow_touch_ahead(uint8_t *at, uint64_t bytes);
void pg_flow_fill_ahead(struct flow_memory *m, uint64_t from, uint64_t bytes);
/* A file couldn't be extended: pg_flow_fills() tells. */
void pg_flow_note_no_room(int error);
void pg_flow_touch_forget(uint8_t *at, uint64_t bytes);
