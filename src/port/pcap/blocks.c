/* SPDX-License-Identifier: Apache-2.0
 *
 * The packets of a pcapng file (draft-ietf-opsawg-pcapng): enhanced, simple and
 * obsolete packet blocks in sections of either byte order. Other blocks are passed
 * over; a port has no use for times, so interfaces' options aren't looked at. A block's
 * length is checked, and that the two copies of it agree, before its contents.
 */
#include <stdlib.h>

#include "state.h"

/* Lengths in bytes, with the block's type and both copies of its length. */
enum { BLOCK_MIN = 12, SECTION_MIN = 28, INTERFACE_MIN = 20, PACKET_MIN = 32,
       SIMPLE_MIN = 16 };

enum { PACKET_DATA = 28, SIMPLE_DATA = 12 }; /* where their bytes begin */

static enum found wrong(struct capture *c, const char *what)
{
  return capture_damaged(c, ": the block at offset %llu %s",
                         (unsigned long long)window_offset(&c->window), what);
}

static enum found cut(struct capture *c, uint64_t offset, uint64_t has, uint64_t wanted)
{
  return capture_damaged(c, " ends in the middle of a block, which begins at offset "
                         "%llu after packet %llu (%llu of %llu bytes)",
                         (unsigned long long)offset, (unsigned long long)c->packets,
                         (unsigned long long)has, (unsigned long long)wanted);
}

/* Have `n` bytes of the block at the cursor in the window. */
static enum found need(struct capture *c, size_t n)
{
  enum found found = window_need(c, n);
  if (found != ENDED)
    return found;
  return cut(c, window_offset(&c->window), window_has(&c->window), n);
}

/* Have the whole block there, and see that its lengths are right. */
static enum found hold(struct capture *c, uint32_t total, uint32_t least)
{
  char what[96];
  if (total < least || total % 4 != 0) {
    snprintf(what, sizeof what, "has the impossible length %u", total);
    return wrong(c, what);
  }
  if (total > PCAP_MAX_BLOCK) {
    snprintf(what, sizeof what, "claims %u bytes, but at most %d can be read", total,
             PCAP_MAX_BLOCK);
    return wrong(c, what);
  }
  enum found found = need(c, total);
  if (found != FOUND)
    return found;
  const struct window *w = &c->window;
  uint32_t trailer = read32(w->bytes + w->cursor + total - 4, c->swap);
  if (trailer == total)
    return FOUND;
  snprintf(what, sizeof what, "has two lengths, %u and %u", total, trailer);
  return wrong(c, what);
}

static enum found read_section(struct capture *c)
{
  char what[128];
  struct window *w = &c->window;
  enum found found = need(c, SECTION_MIN);
  if (found != FOUND)
    return found;
  uint32_t order = read32(w->bytes + w->cursor + 8, false);
  if (order != PCAPNG_BYTE_ORDER && __builtin_bswap32(order) != PCAPNG_BYTE_ORDER) {
    snprintf(what, sizeof what, "begins a section with byte order mark 0x%08x, which "
             "is neither order of 0x1a2b3c4d", order);
    return wrong(c, what);
  }
  c->swap = order != PCAPNG_BYTE_ORDER;
  uint32_t total = read32(w->bytes + w->cursor + 4, c->swap);
  found = hold(c, total, SECTION_MIN);
  if (found != FOUND)
    return found;
  uint16_t major = read16(w->bytes + w->cursor + 12, c->swap);
  if (major != 1) {
    snprintf(what, sizeof what, "begins a section of version %u; version 1 can be read",
             major);
    return wrong(c, what);
  }
  c->n_interfaces = 0;
  w->cursor += total;
  return FOUND;
}

static bool room_for_interface(struct capture *c)
{
  if (c->n_interfaces < c->room)
    return true;
  uint32_t room = c->room ? 2 * c->room : 8;
  uint32_t *grown = realloc(c->interfaces, room * sizeof *grown);
  if (!grown)
    return false;
  c->interfaces = grown;
  c->room = room;
  return true;
}

static enum found read_interface(struct capture *c, uint32_t total)
{
  struct window *w = &c->window;
  enum found found = hold(c, total, INTERFACE_MIN);
  if (found != FOUND)
    return found;
  const uint8_t *block = w->bytes + w->cursor;
  uint16_t linktype = read16(block + 8, c->swap);
  if (linktype != PCAP_LINKTYPE_ETHERNET)
    return capture_damaged(c, " has an interface of link type %u (block at offset "
                           "%llu); only Ethernet (1) can be read", linktype,
                           (unsigned long long)window_offset(w));
  if (!room_for_interface(c))
    return wrong(c, "describes one interface more than there is memory for");
  c->interfaces[c->n_interfaces++] = snaplen_of(read32(block + 12, c->swap));
  w->cursor += total;
  return FOUND;
}

/* Pass over a block that isn't looked into, however long it is. */
static enum found skip_block(struct capture *c, uint32_t total)
{
  struct window *w = &c->window;
  char what[64];
  if (total < BLOCK_MIN || total % 4 != 0) {
    snprintf(what, sizeof what, "has the impossible length %u", total);
    return wrong(c, what);
  }
  w->skip = total;
  w->skip_from = window_offset(w);
  return FOUND;
}

/* Go on with that. */
static enum found go_on_skipping(struct capture *c)
{
  struct window *w = &c->window;
  while (w->skip > 0) {
    size_t n = window_has(w) < w->skip ? window_has(w) : w->skip;
    w->cursor += n;
    w->skip -= n;
    enum found found = w->skip > 0 ? window_need(c, 1) : FOUND;
    uint64_t has = window_offset(w) - w->skip_from;
    if (found == ENDED)
      return cut(c, w->skip_from, has, has + w->skip);
    if (found != FOUND)
      return found;
  }
  return FOUND;
}

/* A packet block that is whole: its bytes, or what is wrong with it. */
static bool slice_of(const struct capture *c, const uint8_t *block, uint32_t type,
                     uint32_t total, struct slice *slice, char *what, size_t size)
{
  bool simple = type == PCAPNG_SIMPLE;
  uint32_t data = simple ? SIMPLE_DATA : PACKET_DATA;
  uint32_t interface = simple ? 0
                       : type == PCAPNG_OBSOLETE ? read16(block + 8, c->swap)
                       : read32(block + 8, c->swap);
  if (interface >= c->n_interfaces) {
    snprintf(what, size, "is of interface %u, but the section has described %u",
             interface, c->n_interfaces);
    return false;
  }
  uint32_t most = c->interfaces[interface], room = total - data - 4;
  uint32_t captured = read32(block + (simple ? 8 : 20), c->swap);
  if (simple && captured > most)
    captured = most;
  /* Padded to a multiple of 4, in 64 bits. */
  if (captured > most || (((uint64_t)captured + 3) & ~3ull) > room) {
    snprintf(what, size, "holds packet %llu with %u captured bytes, but at most %u are "
             "possible", (unsigned long long)c->packets + 1, captured,
             most < room ? most : room);
    return false;
  }
  *slice = (struct slice){block + data, captured};
  return true;
}

static inline bool is_packet(uint32_t type)
{
  return type == PCAPNG_ENHANCED || type == PCAPNG_SIMPLE || type == PCAPNG_OBSOLETE;
}

/* Packet blocks that lie whole in the window, up to one that isn't right. */
uint16_t blocks_gather(struct capture *c, struct slice *slices, uint16_t n)
{
  struct window *w = &c->window;
  char what[128];
  uint16_t k = 0;
  while (k < n && w->skip == 0 && window_has(w) >= SIMPLE_MIN) {
    const uint8_t *block = w->bytes + w->cursor;
    uint32_t type = read32(block, c->swap), total = read32(block + 4, c->swap);
    if (!is_packet(type) || total < (type == PCAPNG_SIMPLE ? SIMPLE_MIN : PACKET_MIN) ||
        total % 4 != 0 || total > window_has(w) || total > PCAP_MAX_BLOCK ||
        read32(block + total - 4, c->swap) != total ||
        !slice_of(c, block, type, total, &slices[k], what, sizeof what))
      break;
    w->cursor += total;
    c->packets++;
    k++;
  }
  return k;
}

/* Have a whole packet block in the window, and see that it is right. */
static enum found hold_packet(struct capture *c, uint32_t type, uint32_t total)
{
  struct slice slice;
  char what[128];
  enum found found = hold(c, total, type == PCAPNG_SIMPLE ? SIMPLE_MIN : PACKET_MIN);
  const uint8_t *block = c->window.bytes + c->window.cursor;
  if (found == FOUND && !slice_of(c, block, type, total, &slice, what, sizeof what))
    return wrong(c, what);
  return found;
}

/* Have the next packet block in the window, past what comes before it. */
enum found blocks_step(struct capture *c)
{
  struct window *w = &c->window;
  for (;;) {
    enum found found = go_on_skipping(c);
    if (found == FOUND)
      found = window_need(c, 8);
    if (found == ENDED && window_has(w) > 0)
      return cut(c, window_offset(w), window_has(w), 8);
    if (found != FOUND)
      return found;
    const uint8_t *block = w->bytes + w->cursor;
    uint32_t type = read32(block, c->swap), total = read32(block + 4, c->swap);
    if (is_packet(type))
      return hold_packet(c, type, total);
    found = type == PCAPNG_SECTION ? read_section(c)
            : type == PCAPNG_INTERFACE ? read_interface(c, total)
            : skip_block(c, total);
    if (found != FOUND)
      return found;
  }
}
