/* SPDX-License-Identifier: Apache-2.0
 *
 * Headers as they are in packets: big-endian reads and writes at any address, and the
 * numbers that say what follows and where its fields are. wire.lua is the same for Lua.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

/* EtherTypes (RFC 9542, appendix B; IEEE 802.1Q, table 9-1). */
enum {
  TYPE_IP4 = 0x0800, TYPE_ARP = 0x0806, TYPE_BRIDGED = 0x6558, TYPE_8021Q = 0x8100,
  TYPE_IP6 = 0x86dd, TYPE_8021AD = 0x88a8, TYPE_LLDP = 0x88cc
};

/* A frame on the wire has 8 bytes preamble, 12 gap and 4 CRC more, and none is shorter
 * than 60 (IEEE 802.3, clause 4.2). */
enum { WIRE_OVERHEAD = 8 + 12 + 4, SHORTEST_FRAME = 60 };

/* Headers' bytes, the shortest; and where fields are. */
enum { MAC_ADDRESSES = 12, ETHERNET_HEADER = 14, VLAN_TAG = 4, IP4_HEADER = 20,
       IP6_HEADER = 40, TCP_HEADER = 20, UDP_HEADER = 8 };
enum { IP4_LENGTH = 2, IP4_ID = 4, IP4_FRAGMENT = 6, IP4_PROTOCOL = 9,
       IP4_CHECKSUM = 10, IP4_ADDRESSES = 12 };                /* RFC 791 */
enum { IP4_DONT_FRAGMENT = 0x4000, IP4_MORE = 0x2000, IP4_OFFSET = 0x1fff,
       IP4_PART = IP4_MORE | IP4_OFFSET }; /* bits at IP4_FRAGMENT; of a fragment */
enum { IP6_LENGTH = 4, IP6_NEXT = 6, IP6_ADDRESSES = 8 };      /* RFC 8200 */
enum { TCP_SEQUENCE = 4, TCP_ACK = 8, TCP_OFFSET = 12, TCP_FLAGS = 13,
       TCP_CHECKSUM = 16 };                                    /* RFC 9293 */
enum { UDP_LENGTH = 4, UDP_CHECKSUM = 6 };                     /* RFC 768 */
enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_PSH = 8, TCP_ACK_FLAG = 16,
       TCP_CWR = 128 };                                        /* RFC 9293, section 3.1 */

/* Does a VLAN tag follow? Customer's (802.1Q) or provider's (802.1ad). */
static inline bool is_vlan_type(uint32_t type)
{
  return type == TYPE_8021Q || type == TYPE_8021AD;
}

/* Do the first `length` bits of an address agree with the prefix? */
static inline bool in_prefix(const uint8_t *address, const uint8_t *prefix,
                             uint32_t length)
{
  uint32_t bytes = length / 8, rest = length % 8;
  return !memcmp(address, prefix, bytes) &&
         (rest == 0 || (address[bytes] ^ prefix[bytes]) >> (8 - rest) == 0);
}

/* Numbers in network order. */
static inline uint32_t get16(const void *p)
{
  uint16_t value;
  memcpy(&value, p, sizeof value);
  return rte_be_to_cpu_16(value);
}

static inline uint32_t get32(const void *p)
{
  uint32_t value;
  memcpy(&value, p, sizeof value);
  return rte_be_to_cpu_32(value);
}

static inline uint64_t get64(const void *p)
{
  uint64_t value;
  memcpy(&value, p, sizeof value);
  return rte_be_to_cpu_64(value);
}

static inline void put16(void *p, uint32_t value)
{
  uint16_t word = rte_cpu_to_be_16((uint16_t)value);
  memcpy(p, &word, sizeof word);
}

static inline void put32(void *p, uint32_t value)
{
  value = rte_cpu_to_be_32(value);
  memcpy(p, &value, sizeof value);
}

static inline void put64(void *p, uint64_t value)
{
  value = rte_cpu_to_be_64(value);
  memcpy(p, &value, sizeof value);
}

/* Bytes as the memory has them: to compare, to hash, and for checksums, whose sums are
 * of such words. */
static inline uint16_t load16(const void *p)
{
  uint16_t value;
  memcpy(&value, p, sizeof value);
  return value;
}

static inline uint32_t load32(const void *p)
{
  uint32_t value;
  memcpy(&value, p, sizeof value);
  return value;
}

static inline uint64_t load64(const void *p)
{
  uint64_t value;
  memcpy(&value, p, sizeof value);
  return value;
}

static inline void store16(void *p, uint16_t value)
{
  memcpy(p, &value, sizeof value);
}
