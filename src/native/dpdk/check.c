/* SPDX-License-Identifier: Apache-2.0
 *
 * For --check (core/check): is a packet as its pool made it, and are a freed packet's
 * bytes as they were left? Packets then have a guard behind their buffer, which nobody
 * may write to.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_mbuf.h>

#include "../api.h"
#include "internal.h"

enum { GUARD_BYTES = 128, GUARD = 0xa7, POISON = 0xdb };

static bool checking; /* for the whole process: before the first pool is made */

/* Is the process checking? It is from now on if `begin`. */
bool pg_checking(bool begin)
{
  checking = checking || begin;
  return checking;
}

/* Bytes that packets have behind their buffers. */
uint32_t pg_guard_bytes(void)
{
  return checking ? GUARD_BYTES : 0;
}

static uint8_t *guard_of(const void *packet)
{
  return (uint8_t *)packet + sizeof(struct packet) + PACKET_MAX_HEADROOM +
         PACKET_MAX_PAYLOAD;
}

/* A packet is made: set its guard. */
void pg_guard(void *packet)
{
  if (checking)
    memset(guard_of(packet), GUARD, GUARD_BYTES);
}

static int32_t differs(const uint8_t *bytes, uint8_t value, int32_t n)
{
  for (int32_t i = 0; i < n; i++)
    if (bytes[i] != value)
      return i;
  return -1;
}

/* Is it of one of our pools? */
bool pg_packet_is_ours(const struct packet *p)
{
  return (uintptr_t)p % RTE_CACHE_LINE_SIZE == 0 && pg_pool_is_ours(p->pool);
}

/* What is wrong with a packet, or CHECK_GOOD. Nothing is known of one that isn't `ours`,
 * as far as is known, and isn't indeed. */
enum check_result pg_check_packet(const struct packet *p, bool ours)
{
  enum { ROOM = PACKET_MAX_HEADROOM + PACKET_MAX_PAYLOAD };
  if ((uintptr_t)p % RTE_CACHE_LINE_SIZE)
    return CHECK_NO_PACKET;
  if (!pg_pool_is_ours(p->pool))
    return ours ? CHECK_HEADER : CHECK_GOOD;
  if (p->buf_addr != (uint8_t *)(p + 1) || p->buf_len != ROOM || p->nb_segs != 1 ||
      p->next || p->refcnt != 1)
    return CHECK_HEADER;
  if (p->length > PACKET_MAX_PAYLOAD)
    return CHECK_LENGTH;
  if (p->data_off + p->length > ROOM)
    return CHECK_OFFSET;
  if (checking && differs(guard_of(p), GUARD, GUARD_BYTES) >= 0)
    return CHECK_GUARD;
  return CHECK_GOOD;
}

/* Overwrite all bytes of a packet that is freed. */
void pg_poison(struct packet *p)
{
  memset(p->buf_addr, POISON, p->buf_len);
}

/* The first byte of its buffer that is another one now; -1: none is. */
int32_t pg_poison_spoilt(const struct packet *p)
{
  static uint8_t clean[PACKET_MAX_HEADROOM + PACKET_MAX_PAYLOAD];
  if (clean[sizeof clean - 1] != POISON)
    memset(clean, POISON, sizeof clean);
  if (p->buf_len == sizeof clean && memcmp(p->buf_addr, clean, sizeof clean) == 0)
    return -1;
  return differs(p->buf_addr, POISON, p->buf_len);
}
