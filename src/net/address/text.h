/* SPDX-License-Identifier: Apache-2.0
 *
 * IP addresses as text, for C and Lua (address.lua). Plain declarations: LuaJIT reads this
 * file (core.declare).
 */
#pragma once

#include <stdint.h>

enum { IP_TEXT = 46 };         /* bytes of the longest, with its 0 */

/* text.c: how many bytes, without the 0 */
uint32_t pg_ip4_text(const uint8_t *address, char *to);
uint32_t pg_ip6_text(const uint8_t *address, char *to);
