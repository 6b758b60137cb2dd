/* SPDX-License-Identifier: Apache-2.0
 *
 * Sequence numbers (RFC 9293, section 3.4): of two less than 2^31 apart, which is first?
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

static inline bool seq_before(uint32_t a, uint32_t b) { return (int32_t)(a - b) < 0; }
