/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of many patterns occur in a packet, by Hyperscan's hs_scan(), which says what
 * it finds by calls that LuaJIT can't compile. Plain declarations, as in native/api.h.
 */
#pragma once

#include <stdint.h>

/* Hyperscan's function and what it is given (its manual, "hs_runtime.h"). */
struct patterns { void *scan, *database, *scratch; };

int32_t pg_patterns_any(const struct patterns *p, const uint8_t *data, uint32_t n);
int32_t pg_patterns_first(const struct patterns *p, const uint8_t *data, uint32_t n);
int32_t pg_patterns_count(const struct patterns *p, const uint8_t *data, uint32_t n);
