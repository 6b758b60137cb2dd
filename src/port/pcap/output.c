/* SPDX-License-Identifier: Apache-2.0
 *
 * A capture file written in pieces of 1 MB: pcap with nanoseconds, or pcapng where the
 * name says so. When a write fails (a full disk) the file is cut back to whole records,
 * so that it stays readable, and what isn't in it is counted as lost. A pipe is written
 * without waiting: while its reader is behind, packets stay with who sends them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rte_mbuf.h>
#include <rte_memcpy.h>

#include "../../native/api.h"
#include "../../native/host.h"
#include "state.h"

enum {
  PIECE = 1 << 20,
  RECORD_HEADER = 16, BLOCK_HEADER = 28, BLOCK_TRAILER = 4,
  SECTION_SIZE = 28, INTERFACE_SIZE = 32,
  IF_TSRESOL = 9, NANOSECONDS = 9,
  DRAIN_MS = 1000 /* of a pipe whose reader takes nothing, when the port is closed */
};

static const uint64_t SECOND_NS = 1000000000;

/* The record or block at `at`: its bytes in the file. */
static size_t record_bytes(const struct output *o, size_t at)
{
  return o->pcapng ? read32(o->buffer + at + 4, false)
                   : RECORD_HEADER + read32(o->buffer + at + 8, false);
}

static size_t captured_bytes(const struct output *o, size_t at)
{
  return read32(o->buffer + at + (o->pcapng ? 20 : 8), false);
}

/* Writing can't go on: the file keeps its whole records, the rest is lost. */
static void fail(struct output *o, const char *why)
{
  size_t at = 0;
  while (at < o->used && at + record_bytes(o, at) <= o->done)
    at += record_bytes(o, at);
  if (!o->stream && o->done > at && ftruncate(o->fd, o->start + at) < 0)
    why = strerror(errno); /* the record that is cut can't be taken off either */
  for (; at < o->used; at += record_bytes(o, at)) {
    o->lost++;
    o->lost_bytes += captured_bytes(o, at);
  }
  o->failed = true;
  o->used = o->done = 0;
  snprintf(o->sentence, sizeof o->sentence, "can't write %s after packet %llu: %s",
           o->path, (unsigned long long)(o->packets - o->lost), why);
}

void output_flush(struct output *o)
{
  while (o->done < o->used) {
    ssize_t n = write(o->fd, o->buffer + o->done, o->used - o->done);
    if (n < 0 && errno == EAGAIN)
      return;
    if (n < 0 && errno != EINTR) {
      fail(o, strerror(errno));
      return;
    }
    if (n > 0)
      o->done += n;
  }
  o->start += o->used;
  o->used = o->done = 0;
}

static uint64_t now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec * SECOND_NS + t.tv_nsec;
}

static inline void store32(uint8_t *to, uint32_t value)
{
  memcpy(to, &value, sizeof value);
}

static inline size_t put_record(uint8_t *to, const struct rte_mbuf *m, uint64_t ns)
{
  uint32_t header[4] = {ns / SECOND_NS, ns % SECOND_NS, m->data_len, m->data_len};
  memcpy(to, header, sizeof header);
  rte_memcpy(to + RECORD_HEADER, rte_pktmbuf_mtod(m, void *), m->data_len);
  return RECORD_HEADER + m->data_len;
}

static inline size_t put_block(uint8_t *to, const struct rte_mbuf *m, uint64_t ns)
{
  uint32_t room = (m->data_len + 3u) & ~3u;
  uint32_t total = BLOCK_HEADER + room + BLOCK_TRAILER;
  uint32_t header[7] = {PCAPNG_ENHANCED, total, 0, ns >> 32, ns, m->data_len,
                        m->data_len};
  memcpy(to, header, sizeof header);
  store32(to + total - BLOCK_TRAILER - (room ? 4 : 0), 0); /* the padding's zeros */
  store32(to + total - BLOCK_TRAILER, total);
  rte_memcpy(to + BLOCK_HEADER, rte_pktmbuf_mtod(m, void *), m->data_len);
  return total;
}

static inline bool has_room(struct output *o, const struct rte_mbuf *m)
{
  return o->used + BLOCK_HEADER + m->data_len + 2 * BLOCK_TRAILER <= PIECE;
}

uint16_t output_send(struct output *o, struct rte_mbuf **packets, uint16_t n)
{
  uint64_t ns = now_ns();
  uint16_t taken = 0;
  for (; taken < n; taken++) {
    const struct rte_mbuf *m = packets[taken];
    if (taken + 4 < n)
      rte_prefetch0(rte_pktmbuf_mtod(packets[taken + 4], void *));
    if (!has_room(o, m) && !o->failed)
      output_flush(o);
    if (!has_room(o, m))
      break;
    o->packets++;
    o->bytes += m->data_len;
    if (o->failed) {
      o->lost++;
      o->lost_bytes += m->data_len;
    } else {
      o->used += o->pcapng ? put_block(o->buffer + o->used, m, ns)
                           : put_record(o->buffer + o->used, m, ns);
    }
  }
  return taken;
}

static void put_pcap_header(struct output *o)
{
  uint32_t header[6] = {PCAP_MAGIC_NS, 0, 0, 0, PCAP_MAX_CAPTURED,
                        PCAP_LINKTYPE_ETHERNET};
  uint16_t version[2] = {2, 4};
  memcpy(&header[1], version, sizeof version);
  memcpy(o->buffer, header, sizeof header);
  o->used = sizeof header;
}

static void put_pcapng_header(struct output *o)
{
  uint16_t version[2] = {1, 0}, linktype[2] = {PCAP_LINKTYPE_ETHERNET, 0},
           option[4] = {IF_TSRESOL, 1, NANOSECONDS, 0};
  uint32_t section[7] = {PCAPNG_SECTION, SECTION_SIZE, PCAPNG_BYTE_ORDER, 0,
                         UINT32_MAX, UINT32_MAX, /* its length isn't given */
                         SECTION_SIZE};
  uint32_t interface[8] = {PCAPNG_INTERFACE, INTERFACE_SIZE, 0, PCAP_MAX_CAPTURED,
                           0, 0, 0, INTERFACE_SIZE};
  memcpy(&section[3], version, sizeof version);
  memcpy(&interface[2], linktype, sizeof linktype);
  memcpy(&interface[4], option, sizeof option); /* and the end of options: 0 */
  memcpy(o->buffer, section, sizeof section);
  memcpy(o->buffer + sizeof section, interface, sizeof interface);
  o->used = sizeof section + sizeof interface;
}

static bool named(const char *path, const char *suffix)
{
  size_t n = strlen(path), m = strlen(suffix);
  return n >= m && strcmp(path + n - m, suffix) == 0;
}

static int not_opened(struct output *o)
{
  const char *why = errno == ENXIO ? "it is a pipe that nobody reads" : strerror(errno);
  if (o->fd < 0 && errno == EBUSY)
    return -1; /* pg_error() names who uses it */
  if (o->fd >= 0)
    close(o->fd);
  free(o->buffer);
  return pg_fail("can't write %s: %s", o->path, why);
}

int output_open(struct output *o, const char *path)
{
  struct stat st;
  *o = (struct output){.path = path, .pcapng = named(path, ".pcapng")};
  o->fd = pg_file_create(path, O_NONBLOCK, false);
  if (o->fd < 0 || fstat(o->fd, &st) < 0)
    return not_opened(o);
  o->stream = !S_ISREG(st.st_mode);
  if (posix_memalign((void **)&o->buffer, 4096, PIECE) != 0) {
    errno = ENOMEM;
    return not_opened(o);
  }
  if (o->pcapng)
    put_pcapng_header(o);
  else
    put_pcap_header(o);
  ssize_t wrote = write(o->fd, o->buffer, o->used);
  if (wrote != (ssize_t)o->used) {
    errno = wrote < 0 ? errno : ENOSPC;
    return not_opened(o);
  }
  o->start = o->used;
  o->used = 0;
  return 0;
}

/* A pipe's reader gets time for the rest, as long as it goes on reading. */
static void drain(struct output *o)
{
  struct pollfd p = {.fd = o->fd, .events = POLLOUT};
  output_flush(o);
  while (o->used > 0 && poll(&p, 1, DRAIN_MS) > 0)
    output_flush(o);
  if (o->used > 0)
    fail(o, "its reader takes nothing");
}

void output_close(struct output *o)
{
  if (!o->failed)
    drain(o);
  if (close(o->fd) < 0 && !o->failed)
    fail(o, strerror(errno));
  free(o->buffer);
  o->buffer = NULL;
}
