/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of TCP headers (options.h): types, and lengths in bytes (RFC 9293, section 3.2;
 * RFC 7323; RFC 2018).
 */
#pragma once

#include "options.h"

enum {
  TCP_MSS = 2, TCP_WINDOW_SCALE = 3, TCP_SACK_PERMITTED = 4, TCP_SACK = 5,
  TCP_TIMESTAMPS = 8,
  TCP_MSS_BYTES = 4, TCP_WINDOW_SCALE_BYTES = 3, TCP_SACK_PERMITTED_BYTES = 2,
  TCP_SACK_LEAST_BYTES = 10, TCP_TIMESTAMPS_BYTES = 10
};
