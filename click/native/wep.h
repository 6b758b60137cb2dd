/* SPDX-License-Identifier: Apache-2.0
 *
 * The cipher and checksum of Wired Equivalent Privacy (IEEE 802.11-2020, section 12.3.2),
 * which keeps nothing secret any more.
 */
#pragma once

#include <stdint.h>

/* Encrypts or decrypts the bytes in place with RC4; the key has 1 to 256 bytes. */
void pg_wep_crypt(const uint8_t *key, uint32_t key_bytes, uint8_t *data, uint32_t n);

/* The bytes' integrity check value, Ethernet's CRC-32. */
uint32_t pg_wep_check(const uint8_t *data, uint32_t n);
