/* SPDX-License-Identifier: Apache-2.0
 *
 * The learning bridge: which port an address was last seen at, and a burst of packets
 * sent by that. Where an address is in the table is chance, and ports follow each
 * other at random: in Lua each case would be a trace of its own.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../../../src/native/api.h"
#include "../../../src/net/fdb/find.h"
#include "bridge.h"

enum { SOURCE = 6, HEADER = 14, /* bytes of a frame */
       GONE_A_BURST = 4 };      /* entries whose time is over */

/* How many entries line `i` of the index has. */
int pg_mac_used(const struct mac_table *t, uint32_t i)
{
  const struct flow_line *line = &t->fdb.table->index.line[i];
  int used = 0;
  for (;;) {
    used += FLOW_PLACES - __builtin_popcount(flow_matches(line, 0) & 0x7f);
    if (!line->number[FLOW_PLACES])
      return used;
    line = &t->fdb.table->index.more[line->number[FLOW_PLACES]];
  }
}

/* Where the packet is to go, after its source is learned: a port, or one of these. */
enum { FLOOD = 0, DISCARD = 0xffff };

static inline bool is_whole(const struct packet *p) { return p->length >= HEADER; }

static inline uint64_t key_at(const struct packet *p, uint32_t place)
{
  return fdb_key(p->buf_addr + p->data_off + place, 0);
}

/* Where a packet from that place goes. Its source is learned. */
FLOW_INLINE uint16_t decide(struct mac_table *t, const struct fdb_query *destination,
                            const struct fdb_query *source, uint32_t place)
{
  struct mac_place from = t->place[place];
  uint16_t port = FLOOD;
  const struct fdb_record *e = fdb_found(&t->fdb, destination);
  if (e) {
    struct mac_place to = t->place[fdb_port(e)];
    bool stays = to.port == from.port || (from.group != 0 && to.group == from.group);
    port = stays ? DISCARD : to.port;
  }
  fdb_learn(&t->fdb, source, place);
  return port;
}

/* Up to FDB_BURST packets: what the memory is asked for comes meanwhile. */
static void decide_together(struct mac_table *t, struct packet **packets, int n,
                            uint32_t place, uint16_t *to)
{
  struct fdb_query destination[FDB_BURST], source[FDB_BURST];
  for (int i = 0; i < n; i++) {
    if (i + 4 < n)
      __builtin_prefetch(packets[i + 4]->buf_addr + packets[i + 4]->data_off);
    bool whole = is_whole(packets[i]);
    fdb_ask(&t->fdb, &destination[i], whole ? key_at(packets[i], 0) : 0);
    fdb_ask(&t->fdb, &source[i], whole ? key_at(packets[i], SOURCE) : 0);
  }
  for (int i = 0; i < n; i++) {
    fdb_ask_entry(&t->fdb, &destination[i]);
    fdb_ask_entry(&t->fdb, &source[i]);
  }
  for (int i = 0; i < n; i++)
    to[i] = is_whole(packets[i]) ? decide(t, &destination[i], &source[i], place) : DISCARD;
}

static void decide_all(struct mac_table *t, struct packet **packets, int n,
                       uint32_t place, uint16_t *to)
{
  for (int at = 0; at < n; at += FDB_BURST) {
    int some = n - at < FDB_BURST ? n - at : FDB_BURST;
    decide_together(t, packets + at, some, place, to + at);
  }
}

/* Take a burst from the link `in` of the port of that place, and send what goes to one
 * port to that one's link in `out`. What is left are those to flood, `b->flood`, and
 * those to discard. How many packets it took. */
int pg_bridge(struct bridge *b, struct freelist *account, struct link *in,
              uint32_t place)
{
  struct packet *packets[PORT_BURST];
  uint16_t to[PORT_BURST];
  int n = pg_take_counted(in, packets, PORT_BURST);
  b->floods = b->discards = 0;
  pg_fdb_expire(&b->table.fdb, GONE_A_BURST);
  decide_all(&b->table, packets, n, place, to);
  for (int i = 0, run; i < n; i += run) {
    for (run = 1; i + run < n && to[i + run] == to[i]; run++)
      ;
    if (to[i] == DISCARD) {
      memcpy(&b->discard[b->discards], &packets[i], run * sizeof *packets);
      b->discards += run;
    } else if (to[i] == FLOOD || b->out[to[i]] == NULL) {
      memcpy(&b->flood[b->floods], &packets[i], run * sizeof *packets);
      b->floods += run;
    } else {
      pg_give(account, b->out[to[i]], &packets[i], run);
    }
  }
  return n;
}
