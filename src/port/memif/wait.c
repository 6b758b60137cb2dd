/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine that sleeps until a memif peer has sent something: the peer is asked to ring
 * the bells of its rings, and no more once the engine looks by itself again.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ring.h"

static uint16_t step_of(const struct port *port)
{
  return RTE_MAX(port->queues, 1);
}

/* The descriptors that tell of packets or another session, all of them counting ones that
 * aren't to be read: how many. */
int32_t pg_memif_descriptors(const struct port *port, int32_t *fds, int32_t most)
{
  struct memif *m = port->state;
  int32_t n = 0;
  fds[n++] = m->changed;
  for (uint16_t i = port->queue; i < m->options.queues && n < most; i += step_of(port)) {
    struct session *s = enter(&m->receive[i]);
    if (!s)
      continue;
    if (i < s->receives)
      fds[n++] = s->receive[i].bell;
    leave(&m->receive[i]);
  }
  return n;
}

/* Let the peer ring, or no more; a number that is another one once there is another
 * session. What was sent before it sees this is in the ring by the next look. */
uint32_t pg_memif_notify(const struct port *port, bool on)
{
  struct memif *m = port->state;
  for (uint16_t i = port->queue; i < m->options.queues; i += step_of(port)) {
    struct session *s = enter(&m->receive[i]);
    if (!s)
      continue;
    if (i < s->receives)
      __atomic_store_n(&s->receive[i].shared->flags, on ? 0 : MEMIF_QUIET,
                       __ATOMIC_SEQ_CST);
    leave(&m->receive[i]);
  }
  atomic_thread_fence(memory_order_seq_cst);
  return atomic_load(&m->sessions);
}
