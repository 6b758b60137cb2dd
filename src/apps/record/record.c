/* SPDX-License-Identifier: Apache-2.0
 *
 * The last packets, in a ring in memory: each is a block of pcapng already, so that to
 * write it to a file is to copy it. The newest overwrite the oldest. A block is in one
 * piece: where the rest of the ring is too short a word of 0 says that it is unused.
 *
 * One thread writes the ring and takes from it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../native/api.h"
#include "../../native/host.h"
#include "record.h"

enum {
  ENHANCED_PACKET = 6,   /* draft-ietf-opsawg-pcapng, section 4.3 */
  AHEAD = 8,             /* packets that the memory is asked for */
  RING_AHEAD = 1024,     /* and bytes of the ring */
  LINE = 64
};

struct block {
  uint32_t type, total, interface, time_high, time_low, captured, original;
  uint8_t data[];
};

_Static_assert(sizeof(struct block) == 28, "as in a file");

static const struct block *block_at(const struct record *r, uint64_t offset)
{
  return (const struct block *)(r->at + offset);
}

static uint64_t time_of(const struct block *b)
{
  return (uint64_t)b->time_high << 32 | b->time_low;
}

static bool is_unused(const struct record *r, uint64_t offset)
{
  return block_at(r, offset)->type == 0;
}

/* Nanoseconds since 1970; they don't go back where the clock is set. */
static uint64_t present(struct record *r)
{
  uint64_t now = (uint64_t)pg_real_ns();
  if (now > r->newest)
    r->newest = now;
  return r->newest;
}

/* A ring of so many bytes, a multiple of 4096 that holds several packets, all of it in
 * memory; NULL if there is none (pg_error). */
struct record *pg_record_new(uint64_t size, uint32_t snaplen)
{
  struct record *r = calloc(1, sizeof *r);
  void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!r || at == MAP_FAILED) {
    free(r);
    if (at != MAP_FAILED)
      munmap(at, size);
    pg_fail("there is no memory for a ring of %llu bytes", (unsigned long long)size);
    return NULL;
  }
  madvise(at, size, MADV_HUGEPAGE);
  memset(at, 0, size); /* not within the first packets */
  *r = (struct record){.at = at, .size = size, .snaplen = snaplen,
                       .most_jobs = RECORD_JOBS};
  return r;
}

void pg_record_free(struct record *r)
{
  munmap(r->at, r->size);
  free(r);
}

/* The oldest packet goes; jobs that wanted it count it. */
static void overwrite_one(struct record *r)
{
  const struct block *b = block_at(r, r->tail_at);
  uint64_t before = r->tail;
  for (uint32_t i = 0; r->jobs > 0 && i < RECORD_JOBS; i++) {
    struct record_job *job = &r->job[i];
    if (job->in_use && job->cursor == before && time_of(b) >= job->from &&
        time_of(b) <= job->to)
      job->overwritten[b->interface]++;
  }
  r->tail += b->total;
  r->tail_at += b->total;
  r->overwritten++;
  if (r->tail_at == r->size) {
    r->tail_at = 0;
  } else if (r->tail != r->head && is_unused(r, r->tail_at)) {
    r->tail += r->size - r->tail_at;
    r->tail_at = 0;
  }
  for (uint32_t i = 0; r->jobs > 0 && i < RECORD_JOBS; i++)
    if (r->job[i].in_use && r->job[i].cursor < r->tail)
      r->job[i].cursor = r->tail;
}

/* Room for a block of so many bytes. */
static struct block *room_for(struct record *r, uint32_t total)
{
  uint64_t rest = r->size - r->head_at;
  uint64_t needed = rest < total ? rest + total : total;
  while (r->size - (r->head - r->tail) < needed)
    overwrite_one(r);
  if (rest < total) {
    *(uint32_t *)(r->at + r->head_at) = 0;
    r->head += rest;
    r->head_at = 0;
  }
  return (struct block *)(r->at + r->head_at);
}

static void put(struct record *r, const uint8_t *data, uint32_t length, uint32_t input,
                uint64_t now)
{
  uint32_t captured = length < r->snaplen ? length : r->snaplen;
  uint32_t padded = (captured + 3) & ~3u, total = sizeof(struct block) + padded + 4;
  struct block *b = room_for(r, total);
  for (uint32_t i = 0; i < total; i += LINE)
    __builtin_prefetch((uint8_t *)b + RING_AHEAD + i, 1);
  *b = (struct block){.type = ENHANCED_PACKET, .total = total, .interface = input,
    .time_high = (uint32_t)(now >> 32), .time_low = (uint32_t)now,
    .captured = captured, .original = length};
  if (padded > 0)
    *(uint32_t *)(b->data + padded - 4) = 0;
  memcpy(b->data, data, captured);
  *(uint32_t *)(b->data + padded) = total;
  r->head += total;
  r->head_at += total;
  if (r->head_at == r->size)
    r->head_at = 0;
  r->bytes += length;
}

/* Begin to take the packets from `before` ns before now (UINT64_MAX: all that there are)
 * to `after` ns behind it; NULL: too many are at work. */
struct record_job *pg_record_begin(struct record *r, uint64_t before, uint64_t after)
{
  uint64_t now = present(r);
  struct record_job *job = NULL;
  for (uint32_t i = 0; i < r->most_jobs && !job; i++)
    if (!r->job[i].in_use)
      job = &r->job[i];
  if (!job) {
    r->refused++;
    return NULL;
  }
  *job = (struct record_job){
    .trigger = now, .from = before < now ? now - before : 0, .to = now + after,
    .cursor = r->tail, .oldest = pg_record_oldest(r), .in_use = 1};
  r->jobs++;
  if (job->to > r->until)
    r->until = job->to;
  return job;
}

void pg_record_end(struct record *r, struct record_job *job)
{
  job->in_use = 0;
  r->jobs--;
}

/* The filter has accepted a packet of the burst that came now. */
static void matched(struct record *r, uint64_t now)
{
  r->matches++;
  if (now <= r->until) {
    r->within++;
    return;
  }
  struct record_job *job = pg_record_begin(r, r->before, r->after);
  if (job) {
    /* What is left of the burst belongs to it, however long it has taken so far. */
    job->trigger = now;
    job->from = r->before < now ? now - r->before : 0;
    job->by_filter = 1;
  }
}

/* Ask the memory for the packet, and for its first bytes, where most packets have them. */
static void ask_for(const struct packet *p)
{
  __builtin_prefetch(p);
  __builtin_prefetch((const uint8_t *)p + sizeof *p + PACKET_HEADROOM);
}

/* Keep the first `n` packets of the link, which come from that input. They stay there. */
void pg_record_take(struct record *r, const struct link *l, uint32_t n, uint32_t input)
{
  uint64_t now = present(r);
  uint32_t read = (uint32_t)l->read;
  for (uint32_t i = 0; i < n; i++) {
    const struct packet *p = l->packets[(read + i) & (LINK_RING_SIZE - 1)];
    if (i + AHEAD < n)
      ask_for(l->packets[(read + i + AHEAD) & (LINK_RING_SIZE - 1)]);
    const uint8_t *data = p->buf_addr + p->data_off;
    if (r->filter && pg_filter(r->filter, data, p->length))
      matched(r, now);
    put(r, data, p->length, input, now);
  }
  r->packets += n;
}

/* The job's next block, after up to `most` that are none of it. NULL: it is complete, or
 * there is none yet. */
const uint8_t *pg_record_next(struct record *r, struct record_job *job, uint32_t most)
{
  for (uint32_t i = 0; i < most && job->cursor != r->head; i++) {
    uint64_t offset = job->cursor % r->size;
    if (is_unused(r, offset)) {
      job->cursor += r->size - offset;
      continue;
    }
    const struct block *b = block_at(r, offset);
    if (time_of(b) > job->to)
      break;
    job->cursor += b->total;
    if (time_of(b) < job->from)
      continue;
    job->taken[b->interface]++;
    job->last = time_of(b);
    if (job->first == 0)
      job->first = job->last;
    return (const uint8_t *)b;
  }
  if (job->cursor == r->head)
    job->complete = present(r) > job->to;
  else
    job->complete = !is_unused(r, job->cursor % r->size) &&
                    time_of(block_at(r, job->cursor % r->size)) > job->to;
  return NULL;
}

/* The time of the oldest packet; 0: there is none. */
uint64_t pg_record_oldest(const struct record *r)
{
  return r->tail == r->head ? 0 : time_of(block_at(r, r->tail_at));
}
