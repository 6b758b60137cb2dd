/* SPDX-License-Identifier: Apache-2.0
 *
 * What fragments that net/fragment has cut are to Click.
 */
#include <string.h>

#include "../../src/native/api.h"
#include "ip.h"

/* The `n` fragments have the notes of `p`, and an IPv4 header `at` bytes behind the
 * beginning of their buffers. */
void pg_ip4_fragment_notes(const struct packet *p, struct packet **fragments, int32_t n,
                           uint32_t at)
{
  for (int32_t i = 0; i < n; i++) {
    struct packet *q = fragments[i];
    memcpy(q->note8, p->note8, sizeof q->note8);
    q->note16[NOTE16_MAC] = 0;
    q->note16[NOTE16_NETWORK] = at;
    q->note16[NOTE16_TRANSPORT] = at + (q->buf_addr[at] & 15) * 4;
  }
}
