/* SPDX-License-Identifier: Apache-2.0
 *
 * The flow of a frame (apps.vtep.flow). Compiled by LuaJIT each kind of packet would be
 * a trace of its own, with all that follows it.
 */
#include "../../net/wire/ports.h"
#include "internal.h"

/* The ports at `data`, where there are some before `end`, and the protocol. */
static uint32_t ports(const uint8_t *data, const uint8_t *end, uint32_t protocol)
{
  if ((protocol == IPPROTO_TCP || protocol == IPPROTO_UDP) && end - data >= PORTS_BYTES)
    return load32(data) ^ protocol;
  return protocol;
}

static uint32_t flow4(const uint8_t *ip, const uint8_t *end)
{
  uint32_t last = ip[9];
  if (((ip[6] & 0x3f) | ip[7]) == 0) /* fragments have ports only in the first */
    last = ports(ip + (ip[0] & 15) * 4, end, last);
  return mix(load32(ip + 12), load32(ip + 16), last);
}

static uint32_t fold6(const uint8_t *address)
{
  return load32(address) ^ rol(load32(address + 4), 8) ^ rol(load32(address + 8), 16) ^
    rol(load32(address + 12), 24);
}

/* Of the Ethernet frame of `length` bytes (at least 14): its DSCP and ECN byte (0 if
 * it isn't IP) in the lowest 8 bits, and above them 24 bits of a hash of its flow. */
int32_t pg_flow(const uint8_t *data, int32_t length)
{
  const uint8_t *ip = data + ETHERNET_HEADER, *end = data + length;
  uint32_t type = get16(data + 12), hash, tos = 0;
  if (type == TYPE_IP4 && length >= ETHERNET_HEADER + IP4_HEADER) {
    hash = flow4(ip, end);
    tos = ip[1];
  } else if (type == TYPE_IP6 && length >= ETHERNET_HEADER + IP6_HEADER) {
    hash = mix(fold6(ip + 8), fold6(ip + 24), ports(ip + IP6_HEADER, end, ip[6]));
    tos = (ip[0] & 15u) << 4 | ip[1] >> 4;
  } else {
    hash = mix(load32(data), load32(data + 4), load32(data + 8) ^ type);
  }
  return (int32_t)(hash << 8 | tos);
}
