/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a packet can get, of which only the address of its first byte is known.
 */
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "../api.h"

static _Thread_local struct rte_mempool *last_found; /* it is often the same */

struct search {
  const uint8_t *data;
  int32_t room;
};

static bool has(const struct rte_mempool *pool, const uint8_t *from, const uint8_t *to)
{
  const struct rte_mempool_memhdr *chunk;
  STAILQ_FOREACH(chunk, &pool->mem_list, next) {
    const uint8_t *begin = chunk->addr;
    if (from >= begin && to <= begin + chunk->len)
      return true;
  }
  return false;
}

/* Is there a buffer of the pool in which a packet begins so far behind `data_off`? */
static void look_for(struct rte_mempool *pool, const uint8_t *data, uint32_t data_off,
                     int32_t *room)
{
  uint32_t notes = rte_pktmbuf_priv_size(pool);
  const uint8_t *start = data - data_off - notes - sizeof(struct rte_mbuf);
  if ((uintptr_t)start % RTE_CACHE_LINE_SIZE || !has(pool, start, data))
    return;
  const struct rte_mbuf *m = (const struct rte_mbuf *)start;
  if (m->pool == pool && m->data_off == data_off && m->priv_size == notes &&
      m->buf_addr == start + sizeof *m + notes)
    *room = m->buf_len - data_off;
}

static void look_in(struct rte_mempool *pool, void *arg)
{
  struct search *s = arg;
  if (s->room >= 0 || pool->private_data_size < sizeof(struct rte_pktmbuf_pool_private))
    return;
  look_for(pool, s->data, RTE_PKTMBUF_HEADROOM, &s->room);
  if (s->room < 0 && PACKET_HEADROOM != RTE_PKTMBUF_HEADROOM)
    look_for(pool, s->data, PACKET_HEADROOM, &s->room);
  if (s->room >= 0)
    last_found = pool;
}

/* The bytes from `data` on, where a packet begins, to the end of its buffer. -1: it is
 * of no pool, or doesn't begin where packets do at first. */
int32_t pg_packet_room(const void *data)
{
  struct search s = {data, -1};
  if (last_found)
    look_in(last_found, &s); /* pools live as long as the process */
  if (s.room < 0)
    rte_mempool_walk(look_in, &s);
  return s.room;
}
