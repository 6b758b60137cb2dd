/* SPDX-License-Identifier: Apache-2.0
 *
 * Fragments put together (README.md). Each may end on many paths, after a loop over those
 * before: LuaJIT can't compile so many.
 */
#include <string.h>

#include "../../native/api.h"
#include "fragment.h"

static struct fragment_range *ranges_of(struct datagram *d)
{
  return (struct fragment_range *)(d + 1);
}

static void begin(struct datagram *d, uint32_t most)
{
  *d = (struct datagram){.total = -1, .most = (uint16_t)most};
}

/* May a fragment be like this? */
static bool sound(const struct datagram *d, uint32_t first, int32_t size, bool more)
{
  if (size < 0 || (more ? size == 0 || size % 8 != 0 : size == 0 && first > 0))
    return false;
  uint32_t last = first + (uint32_t)size;
  if (!more && last < d->reached)
    return false;
  return d->total < 0 ||
         (last <= (uint32_t)d->total && (more || d->overlaps));
}

/* Put a range among those that there are, in order; what overlaps or touches is one. */
static void merge(struct datagram *d, uint32_t first, uint32_t last)
{
  struct fragment_range *r = ranges_of(d);
  uint32_t i = 0, n = d->count;
  while (i < n && r[i].last < first)
    i++;
  uint32_t k = i;
  for (; k < n && r[k].first <= last; k++) {
    d->present -= r[k].last - r[k].first;
    first = r[k].first < first ? r[k].first : first;
    last = r[k].last > last ? r[k].last : last;
  }
  memmove(&r[i + 1], &r[k], (n - k) * sizeof *r);
  r[i] = (struct fragment_range){(uint16_t)first, (uint16_t)last};
  d->count = (uint16_t)(n - (k - i) + 1);
  d->present += last - first;
}

/* Put a range behind those that there are. PENDING; COMPLETE if exactly this one is there
 * already, INVALID if it overlaps one (RFC 5722, section 4). */
static int append(struct datagram *d, uint32_t first, uint32_t last)
{
  struct fragment_range *r = ranges_of(d), *end = r + d->count;
  for (; r < end; r++)
    if (first < r->last && r->first < last)
      return first == r->first && last == r->last ? REASSEMBLY_COMPLETE
                                                  : REASSEMBLY_INVALID;
  *r = (struct fragment_range){(uint16_t)first, (uint16_t)last};
  d->count++;
  d->present += last - first;
  return REASSEMBLY_PENDING;
}

/* Add the `size` bytes at `payload`, which belong at `first` of the payload of a
 * datagram, which is at `to`; `more`: others follow. The payload may be up to `room`
 * bytes long. Where ranges may overlap the later one counts, and what is missing before
 * it is zeros. What is INVALID or TOO_LONG changes nothing. */
int pg_datagram_add(struct datagram *d, uint8_t *to, const uint8_t *payload,
                    uint32_t first, int32_t size, bool more, uint32_t room)
{
  if (d->count == d->most || !sound(d, first, size, more))
    return REASSEMBLY_INVALID;
  uint32_t last = first + (uint32_t)size;
  if (last > room)
    return REASSEMBLY_TOO_LONG;
  if (d->overlaps) {
    merge(d, first, last);
    if (first > d->reached)
      memset(to + d->reached, 0, first - d->reached);
  } else {
    int found = append(d, first, last);
    if (found != REASSEMBLY_PENDING)
      return found == REASSEMBLY_COMPLETE && more ? REASSEMBLY_PENDING
                                                  : REASSEMBLY_INVALID;
  }
  memcpy(to + first, payload, (size_t)size);
  if (last > d->reached)
    d->reached = last;
  if (!more)
    d->total = (int32_t)last;
  return d->total >= 0 && d->present == (uint32_t)d->total ? REASSEMBLY_COMPLETE
                                                           : REASSEMBLY_PENDING;
}

/* As pg_datagram_add, of the datagram with the key. `headers` bytes at `headers_at`, at
 * most FRAGMENT_HEADERS, go before the payload if `first` is 0. A datagram that is
 * COMPLETE is at r->whole until the next call; one with a fragment that is INVALID is
 * forgotten. */
int pg_reassembly_add(struct reassembly *r, const void *key, int64_t now,
                      const uint8_t *payload, uint32_t first, int32_t size, bool more,
                      const uint8_t *headers_at, uint32_t headers)
{
  uint64_t evicted = r->table->evicted;
  uint32_t number = pg_flow_table_find(r->table, key);
  bool fresh = number == 0;
  if (fresh)
    number = pg_flow_table_add(r->table, key, 0, now);
  r->evicted = r->table->evicted != evicted;
  if (number == 0)
    return REASSEMBLY_INVALID;
  struct datagram *d = (void *)(r->buffers + (size_t)(number - 1) * r->buffer);
  uint8_t *to = (uint8_t *)(ranges_of(d) + r->fragments) + FRAGMENT_HEADERS;
  if (fresh)
    begin(d, r->fragments);
  int result = headers > FRAGMENT_HEADERS ? REASSEMBLY_INVALID
    : pg_datagram_add(d, to, payload, first, size, more, r->longest - headers);
  if (first == 0 && result <= REASSEMBLY_COMPLETE && d->headers == 0) {
    d->headers = (uint16_t)headers;
    memcpy(to - headers, headers_at, headers);
  }
  if (result == REASSEMBLY_PENDING)
    return result;
  pg_flow_table_remove(r->table, number);
  r->whole = to - d->headers;
  r->length = d->headers + (uint32_t)d->total;
  return result != REASSEMBLY_COMPLETE || r->length > r->longest ? REASSEMBLY_INVALID
                                                                 : REASSEMBLY_COMPLETE;
}
