/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of apps.vtep that branch on the packet's kind or on chance. Compiled by
 * LuaJIT each way would be a trace of its own, with all that follows it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "api.h"

enum {
  SLOTS = 4, /* in a bucket of the forwarding table: a cache line */
  ETHERNET = 14, IP4 = 20, IP6 = 40, PORTS = 4, /* bytes */
  TYPE_IP4 = 0x0800, TYPE_IP6 = 0x86dd, /* EtherTypes */
  TCP = 6, UDP = 17 /* IANA's protocol numbers */
};

static inline uint32_t rol(uint32_t x, int n)
{
  return x << n | x >> (32 - n);
}

static inline uint32_t word(const uint8_t *data)
{
  uint32_t value;
  memcpy(&value, data, sizeof value);
  return value;
}

/* Three numbers to one. The rotations are those of the last step of Bob Jenkins's
 * lookup3. */
static inline uint32_t mix(uint32_t a, uint32_t b, uint32_t c)
{
  c = (c ^ b) - rol(b, 14);
  a = (a ^ c) - rol(c, 11);
  b = (b ^ a) - rol(a, 25);
  c = (c ^ b) - rol(b, 16);
  a = (a ^ c) - rol(c, 4);
  b = (b ^ a) - rol(a, 14);
  return (c ^ b) - rol(b, 24);
}

/* The hash of a key; the key's buckets are this & mask and its rotation by 16. */
int32_t pg_fdb_hash(int32_t seed, int32_t a, int32_t b)
{
  return (int32_t)mix((uint32_t)a, (uint32_t)b, (uint32_t)seed);
}

/* The number of the slot with the key (a, b), or -1. */
int32_t pg_fdb_find(const struct vtep_entry *slot, int32_t mask, int32_t seed,
                    int32_t a, int32_t b)
{
  uint32_t hash = mix((uint32_t)a, (uint32_t)b, (uint32_t)seed);
  for (int bucket = 0; bucket < 2; bucket++) {
    int32_t first = (int32_t)(hash & (uint32_t)mask) * SLOTS;
    for (int32_t i = first; i < first + SLOTS; i++)
      if (slot[i].a == a && slot[i].b == b)
        return i;
    hash = rol(hash, 16);
  }
  return -1;
}

/* The ports at `data`, where there are some before `end`, and the protocol. */
static uint32_t ports(const uint8_t *data, const uint8_t *end, uint32_t protocol)
{
  if ((protocol == TCP || protocol == UDP) && end - data >= PORTS)
    return word(data) ^ protocol;
  return protocol;
}

static uint32_t flow4(const uint8_t *ip, const uint8_t *end)
{
  uint32_t last = ip[9];
  if (((ip[6] & 0x3f) | ip[7]) == 0) /* fragments have ports only in the first */
    last = ports(ip + (ip[0] & 15) * 4, end, last);
  return mix(word(ip + 12), word(ip + 16), last);
}

static uint32_t fold6(const uint8_t *address)
{
  return word(address) ^ rol(word(address + 4), 8) ^ rol(word(address + 8), 16) ^
    rol(word(address + 12), 24);
}

/* Of the Ethernet frame of `length` bytes (at least 14): its DSCP and ECN byte (0 if
 * it isn't IP) in the lowest 8 bits, and above them 24 bits of a hash of its flow. */
int32_t pg_flow(const uint8_t *data, int32_t length)
{
  const uint8_t *ip = data + ETHERNET, *end = data + length;
  uint32_t type = (uint32_t)data[12] << 8 | data[13], hash, tos = 0;
  if (type == TYPE_IP4 && length >= ETHERNET + IP4) {
    hash = flow4(ip, end);
    tos = ip[1];
  } else if (type == TYPE_IP6 && length >= ETHERNET + IP6) {
    hash = mix(fold6(ip + 8), fold6(ip + 24), ports(ip + IP6, end, ip[6]));
    tos = (ip[0] & 15u) << 4 | ip[1] >> 4;
  } else {
    hash = mix(word(data), word(data + 4), word(data + 8) ^ type);
  }
  return (int32_t)(hash << 8 | tos);
}
