/* SPDX-License-Identifier: Apache-2.0
 *
 * What the links of a fused region have carried, worked out from what came in and the
 * few events that are counted (core/fuse/region_counters.lua). It is here since it is due
 * a hundred times a second: LuaJIT doesn't compile its many short loops well.
 */
#include <string.h>

#include "../api.h"

static struct tally_count counted(const struct tally *t, int32_t event)
{
  return event ? t->counts[event] : (struct tally_count){0, 0};
}

/* What comes to apps by links that close a loop is counted: first, as it is part of
 * what there is to share out. */
static void come_round(struct tally *t)
{
  for (int32_t i = 0; i < t->nouts; i++) {
    const struct tally_out *o = &t->outs[i];
    if (!o->closing)
      continue;
    struct tally_count a = counted(t, o->event), b = counted(t, o->emitted);
    t->apps[o->to].packets += a.packets + b.packets;
    t->apps[o->to].bytes += a.bytes + b.bytes;
  }
}

/* Packets that came to an app, shared out among its losses and outputs, last output
 * first: what went to the first wasn't counted, and is what remains. And so by how much
 * it has lengthened them, if it says so. */
static void share_out_packets(struct tally *t, struct tally_app *a)
{
  int64_t n = a->packets;
  for (int32_t event = a->first; event <= a->last; event++)
    n -= t->counts[event].packets;
  /* process() has passed on those that went astray, too. */
  a->growth = (n + counted(t, a->astray).packets) * a->lengthens;
  for (struct tally_out *o = &t->outs[a->outs + a->nouts]; o-- > &t->outs[a->outs];) {
    int64_t share = n;
    if (o->event) {
      share = t->counts[o->event].packets;
      n -= share;
    }
    o->carried = share + counted(t, o->emitted).packets;
    if (o->to && !o->closing)
      t->apps[o->to].packets += o->carried;
  }
}

/* The fused link has passed packets and bytes since the region was made. */
static void set(const struct tally_out *o, int64_t bytes)
{
  struct link *l = o->link;
  l->read = o->packets + o->carried;
  l->rxbytes = o->bytes + bytes;
  l->write = (int32_t)l->read;
  l->limit = (int32_t)((uint32_t)l->write + LINK_MAX_PACKETS);
}

/* The same of bytes. Then it is known what each link has carried. */
static void share_out(struct tally *t, int32_t k)
{
  const struct tally_app *a = &t->apps[k];
  int64_t b = a->bytes + t->growth[k] + a->growth;
  for (int32_t event = a->first; event <= a->last; event++)
    b -= t->counts[event].bytes;
  for (struct tally_out *o = &t->outs[a->outs + a->nouts]; o-- > &t->outs[a->outs];) {
    int64_t share = b;
    if (o->event) {
      share = t->counts[o->event].bytes;
      b -= share;
    }
    if (!o->to)
      continue;
    share += counted(t, o->emitted).bytes;
    set(o, share);
    if (!o->closing)
      t->apps[o->to].bytes += share;
  }
}

/* Bytes that have gone into the link, whatever became of them. */
static int64_t bytes_into(const struct link *l)
{
  return l->rxbytes + (int64_t)pg_link_queued_bytes(l) + l->txdropbytes;
}

/* With one entry nobody adds up what comes in: it is what left and what was lost, less
 * what apps have added. */
static int64_t bytes_in(const struct tally *t)
{
  int64_t sum = 0;
  for (int32_t i = 0; i < t->nexits; i++)
    sum += bytes_into(t->exits[i].link) - t->exits[i].bytes;
  for (int32_t i = 0; i < t->nlost; i++)
    sum += t->counts[t->lost[i]].bytes;
  for (int32_t k = 1; k <= t->napps; k++)
    sum -= t->growth[k] + t->apps[k].growth;
  return sum;
}

/* From the links' counters as they are now, the tally counts on. */
void pg_tally_begin(struct tally *t)
{
  for (int32_t i = 0; i < t->nentries; i++) {
    t->entries[i].packets = t->entries[i].link->read;
    t->entries[i].bytes = t->entries[i].link->rxbytes;
  }
  for (int32_t i = 0; i < t->nouts; i++)
    if (t->outs[i].link) {
      t->outs[i].packets = t->outs[i].link->read;
      t->outs[i].bytes = t->outs[i].link->rxbytes;
    }
  for (int32_t i = 0; i < t->nexits; i++)
    t->exits[i].bytes = bytes_into(t->exits[i].link);
}

/* Bring the counters of the region's links up to date. Returns how many packets were
 * lost in it since it was made. */
int64_t pg_tally_account(struct tally *t)
{
  int64_t lost = 0;
  for (int32_t k = 1; k <= t->napps; k++)
    t->apps[k].packets = t->apps[k].bytes = 0;
  for (int32_t i = 0; i < t->nentries; i++) {
    struct tally_end *e = &t->entries[i];
    e->seen = e->link->read;
    t->apps[e->to].packets += e->seen - e->packets;
  }
  if (t->loops)
    come_round(t);
  for (int32_t k = 1; k <= t->napps; k++)
    share_out_packets(t, &t->apps[k]);
  if (t->unsummed)
    t->entries[0].link->rxbytes = t->entries[0].bytes + bytes_in(t);
  for (int32_t i = 0; i < t->nentries; i++) {
    const struct tally_end *e = &t->entries[i];
    t->apps[e->to].bytes += e->link->rxbytes - e->bytes;
  }
  for (int32_t k = 1; k <= t->napps; k++)
    share_out(t, k);
  for (int32_t i = 0; i < t->nlost; i++)
    lost += t->counts[t->lost[i]].packets;
  return lost;
}

/* Has anything come in since then? */
bool pg_tally_moved(const struct tally *t)
{
  for (int32_t i = 0; i < t->nentries; i++)
    if (t->entries[i].link->read != t->entries[i].seen)
      return true;
  return false;
}
