/* SPDX-License-Identifier: Apache-2.0
 *
 * The CRC that Click's SetCRC32 appends to packets.
 */
#pragma once

#include <stdint.h>

/* The CRC of the bytes: Ethernet's polynomial, most significant bits first, begun with
 * all ones and not inverted at the end ("CRC-32/MPEG-2"). DPDK's rte_net_crc knows only
 * the one that begins with the least significant bits. */
uint32_t pg_crc32_mpeg2(const uint8_t *data, uint32_t n);
