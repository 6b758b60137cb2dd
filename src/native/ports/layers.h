/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the headers of a frame are, down to the TCP or UDP header that a kernel's
 * offload data (struct virtio_net_hdr) speaks of; through tunnels, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

enum { ETHERNET_HEADER = 14, VLAN_TAG = 4, IP4_HEADER = 20, IP6_HEADER = 40,
       TCP_HEADER = 20, UDP_HEADER = 8 };                      /* bytes */
enum { IP4_LENGTH = 2, IP4_ID = 4, IP4_FRAGMENT = 6, IP4_PROTOCOL = 9,
       IP4_CHECKSUM = 10, IP4_ADDRESSES = 12 };                /* RFC 791 */
enum { IP6_LENGTH = 4, IP6_NEXT = 6, IP6_ADDRESSES = 8 };      /* RFC 8200 */
enum { TCP_SEQUENCE = 4, TCP_ACK = 8, TCP_OFFSET = 12, TCP_FLAGS = 13,
       TCP_CHECKSUM = 16 };                                    /* RFC 9293 */
enum { UDP_LENGTH = 4, UDP_CHECKSUM = 6 };                     /* RFC 768 */
enum { TCP_FIN = 1, TCP_PSH = 8, TCP_ACK_FLAG = 16, TCP_CWR = 128 };

enum layer { LAYER_IP4, LAYER_IP6, LAYER_UDP };

/* IP headers and the UDP headers of tunnels, from the outermost on; the last is the
 * IP header over TCP or UDP, which is at `l4`. */
struct layers {
  struct { uint16_t at; uint8_t kind; } of[8];
  uint16_t count, l4, end;   /* `end`: where the payload begins */
  uint8_t protocol;          /* IPPROTO_TCP or IPPROTO_UDP */
};

/* Find the header of `protocol` in a frame's first `n` bytes: the one at offset
 * `wanted`, or with 0 the first there is. False if it isn't there. */
bool pg_layers(struct layers *l, const uint8_t *frame, uint32_t n, uint8_t protocol,
               uint32_t wanted);

static inline uint16_t get16(const uint8_t *p)
{
  uint16_t value;
  memcpy(&value, p, sizeof value);
  return rte_be_to_cpu_16(value);
}

static inline uint32_t get32(const uint8_t *p)
{
  uint32_t value;
  memcpy(&value, p, sizeof value);
  return rte_be_to_cpu_32(value);
}

static inline void put16(uint8_t *p, uint16_t value)
{
  value = rte_cpu_to_be_16(value);
  memcpy(p, &value, sizeof value);
}

static inline void put32(uint8_t *p, uint32_t value)
{
  value = rte_cpu_to_be_32(value);
  memcpy(p, &value, sizeof value);
}
