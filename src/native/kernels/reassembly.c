/* SPDX-License-Identifier: Apache-2.0
 *
 * Fragments into the buffers of lib.reassembly, which describes them. Each fragment may
 * end in many ways, after a loop over those before: LuaJIT can't compile so many.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../api.h"

/* What the datagram has of the range: nothing, exactly this one, or what contradicts
 * it: an overlap, or an end before it. */
enum { NEW, REPEATED, CONTRADICTED };

static int compare(const struct datagram *d, const struct fragment_range *ranges,
                   uint32_t first, uint32_t last)
{
  for (uint32_t i = 0; i < d->count; i++) {
    const struct fragment_range *r = &ranges[i];
    if (first < r->last && r->first < last)
      return first == r->first && last == r->last ? REPEATED : CONTRADICTED;
  }
  return d->total >= 0 && last > (uint32_t)d->total ? CONTRADICTED : NEW;
}

/* Does no fragment lie behind `last`? */
static bool ends_at(const struct datagram *d, const struct fragment_range *ranges,
                    uint32_t last)
{
  for (uint32_t i = 0; i < d->count; i++)
    if (ranges[i].last > last)
      return false;
  return true;
}

/* May a fragment be like this? */
static bool sound(const struct reassembly *r, uint32_t first, int32_t size, bool more,
                  uint32_t headers)
{
  if (size < 0 || first + (uint32_t)size + headers > r->longest)
    return false;
  return more ? size > 0 && size % 8 == 0 : size > 0 || first == 0;
}

/* Add the `size` bytes at `payload`, which belong at `first` of the payload of the
 * datagram `slot`; `more` tells whether others follow. `headers` bytes at `headers_at`,
 * at most r->payload of them, go before the payload if `first` is 0. */
int pg_reassembly_add(const struct reassembly *r, uint32_t slot,
                      const uint8_t *payload, uint32_t first, int32_t size,
                      bool more, const uint8_t *headers_at, uint32_t headers)
{
  struct datagram *d = &r->datagrams[slot];
  struct fragment_range *ranges = r->ranges + (size_t)slot * r->fragments;
  uint32_t last = first + (uint32_t)size;
  if (!sound(r, first, size, more, headers) || d->count == r->fragments)
    return REASSEMBLY_INVALID;
  if (!more && d->total >= 0)
    return REASSEMBLY_INVALID;
  int found = compare(d, ranges, first, last);
  if (found == REPEATED && more)
    return REASSEMBLY_PENDING;
  if (found != NEW || (!more && !ends_at(d, ranges, last)))
    return REASSEMBLY_INVALID;
  if (!more)
    d->total = (int32_t)last;
  ranges[d->count++] = (struct fragment_range){(uint16_t)first, (uint16_t)last};
  d->present += (uint32_t)size;
  uint8_t *buffer = r->buffers + (size_t)slot * r->buffer_size + r->payload;
  memcpy(buffer + first, payload, (size_t)size);
  if (first == 0) {
    d->headers = (uint16_t)headers;
    memcpy(buffer - headers, headers_at, headers);
  }
  if (d->total < 0 || d->present < (uint32_t)d->total)
    return REASSEMBLY_PENDING;
  return d->headers + (uint32_t)d->total > r->longest ? REASSEMBLY_INVALID
                                                      : REASSEMBLY_COMPLETE;
}
