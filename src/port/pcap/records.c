/* SPDX-License-Identifier: Apache-2.0
 *
 * The packets of a pcap file (draft-ietf-opsawg-pcap), in the window; and what pcap and
 * pcapng have in common. Every length is checked before it is used. What is wrong is
 * said in the words of lib.pcap.reader; a spec compares the two.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../native/api.h"
#include "../../native/host.h"
#include "state.h"

enum { FILE_HEADER = 24, RECORD_HEADER = 16, LINKTYPE_MASK = 0x03ffffff };

enum found capture_damaged(struct capture *c, const char *format, ...)
{
  va_list arguments;
  int n = snprintf(c->sentence, sizeof c->sentence, "%s", c->source.path);
  va_start(arguments, format);
  if (n >= 0 && (size_t)n < sizeof c->sentence)
    vsnprintf(c->sentence + n, sizeof c->sentence - n, format, arguments);
  va_end(arguments);
  return DAMAGED;
}

/* The file's header ---- */

static enum found refuse(struct capture *c)
{
  char bytes[16] = "";
  struct window *w = &c->window;
  for (size_t i = 0; i < 4 && i < window_has(w); i++)
    snprintf(bytes + 3 * i, 4, " %02x", w->bytes[w->cursor + i]);
  return window_has(w) == 0
           ? capture_damaged(c, " is empty; a pcap or pcapng file is wanted")
           : capture_damaged(c, " is neither a pcap nor a pcapng file: it begins with "
                             "the bytes%s", bytes);
}

static enum found read_header(struct capture *c)
{
  struct window *w = &c->window;
  enum found found = window_need(c, FILE_HEADER);
  if (found == ENDED)
    return capture_damaged(c, " ends in the middle of its file header (%zu of %d "
                           "bytes)", window_has(w), FILE_HEADER);
  if (found != FOUND)
    return found;
  const uint8_t *header = w->bytes + w->cursor;
  uint16_t major = read16(header + 4, c->swap), minor = read16(header + 6, c->swap);
  uint32_t linktype = read32(header + 20, c->swap) & LINKTYPE_MASK;
  if (major != 2 || minor != 4)
    return capture_damaged(c, " is a pcap file of version %u.%u; version 2.4 can be "
                           "read", major, minor);
  if (linktype != PCAP_LINKTYPE_ETHERNET)
    return capture_damaged(c, " has link type %u; only Ethernet (1) can be read",
                           linktype);
  c->snaplen = snaplen_of(read32(header + 16, c->swap));
  w->cursor += FILE_HEADER;
  c->begun = true;
  return FOUND;
}

/* Find out which of the two formats it is, and read the header of a pcap file. */
static enum found begin(struct capture *c)
{
  enum found found = window_need(c, 4);
  if (found == ENDED)
    return refuse(c);
  if (found != FOUND)
    return found;
  const uint8_t *magic = c->window.bytes + c->window.cursor;
  for (int swap = 0; swap < 2; swap++) {
    uint32_t value = read32(magic, swap);
    c->swap = swap;
    if (value == PCAP_MAGIC_US || value == PCAP_MAGIC_NS)
      return read_header(c);
  }
  c->pcapng = c->begun = read32(magic, false) == PCAPNG_SECTION;
  return c->begun ? FOUND : refuse(c);
}

/* Records ---- */

/* Those that lie whole in the window. */
static uint16_t records_gather(struct capture *c, struct slice *slices, uint16_t n)
{
  struct window *w = &c->window;
  const uint8_t *at = w->bytes + w->cursor, *end = w->bytes + w->limit;
  const uint32_t most = c->snaplen;
  const bool swap = c->swap;
  uint16_t k = 0;
  for (; k < n && end - at >= RECORD_HEADER; k++) {
    uint32_t captured = read32(at + 8, swap);
    if (captured > most || captured > (size_t)(end - at) - RECORD_HEADER)
      break;
    slices[k] = (struct slice){at + RECORD_HEADER, captured};
    at += RECORD_HEADER + captured;
  }
  w->cursor = at - w->bytes;
  c->packets += k;
  return k;
}

static enum found cut(struct capture *c, size_t wanted)
{
  return capture_damaged(c, " ends in the middle of packet %llu, which begins at "
                         "offset %llu (%zu of %zu bytes)",
                         (unsigned long long)c->packets + 1,
                         (unsigned long long)window_offset(&c->window),
                         window_has(&c->window), wanted);
}

/* Have the next record in the window. */
static enum found records_step(struct capture *c)
{
  struct window *w = &c->window;
  enum found found = window_need(c, RECORD_HEADER);
  if (found != FOUND)
    return found == ENDED && window_has(w) > 0 ? cut(c, RECORD_HEADER) : found;
  uint32_t captured = read32(w->bytes + w->cursor + 8, c->swap);
  if (captured > c->snaplen)
    return capture_damaged(c, ": packet %llu at offset %llu claims %u bytes, but at "
                           "most %u are possible", (unsigned long long)c->packets + 1,
                           (unsigned long long)window_offset(w), captured, c->snaplen);
  found = window_need(c, RECORD_HEADER + captured);
  return found == ENDED ? cut(c, RECORD_HEADER + captured) : found;
}

/* Both formats ---- */

int capture_open(struct capture *c, const char *path)
{
  *c = (struct capture){.state = FOUND};
  if (source_open(&c->source, path) < 0) {
    source_close(&c->source);
    return -1;
  }
  if (window_open(&c->window) < 0) {
    source_close(&c->source);
    return pg_fail("no memory to read %s", path);
  }
  if (c->source.stream)
    return 0;
  c->state = begin(c);
  if (c->state != DAMAGED)
    return 0;
  pg_fail("%s", c->sentence);
  capture_close(c);
  return -1;
}

static uint16_t gather(struct capture *c, struct slice *slices, uint16_t n)
{
  return c->pcapng ? blocks_gather(c, slices, n) : records_gather(c, slices, n);
}

uint16_t capture_next(struct capture *c, struct slice *slices, uint16_t n)
{
  if (c->state == ENDED || c->state == DAMAGED)
    return 0;
  uint16_t k = c->begun ? gather(c, slices, n) : 0;
  if (k > 0)
    return k;
  c->state = c->begun ? FOUND : begin(c);
  if (c->state == FOUND)
    c->state = c->pcapng ? blocks_step(c) : records_step(c);
  return c->state == FOUND ? gather(c, slices, n) : 0;
}

void capture_restart(struct capture *c)
{
  struct window *w = &c->window;
  bool kept = w->keep && w->base == 0;
  if (!kept && source_rewind(&c->source) < 0) {
    c->state = capture_damaged(c, " can't be read again from its start");
    return;
  }
  w->cursor = 0;
  if (!kept) {
    w->base = w->limit = 0;
    w->ended = false;
  }
  w->skip = c->packets = c->n_interfaces = 0;
  c->begun = c->pcapng = false;
  c->state = FOUND;
}

void capture_close(struct capture *c)
{
  source_close(&c->source);
  window_close(&c->window);
  free(c->interfaces);
  c->interfaces = NULL;
}
