/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the pcap port: a window of memory over a file's bytes (window.c; the
 * bytes come of lib/pcap/source.c), the packets in it (records.c, blocks.c), and the
 * file that is written (output.c). pcap.c is the driver.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "../../lib/pcap/source.h"
#include "../../net/wire/wire.h"
#include "pcap.h"

enum {
  PCAP_MAX_CAPTURED = 262144,        /* of a record (libpcap's MAXIMUM_SNAPLEN) */
  PCAP_MAX_BLOCK = 16 * 1024 * 1024, /* of a pcapng block that is looked into */
  PCAP_LINKTYPE_ETHERNET = 1,
  PCAP_SENTENCE = 4096 + 256         /* bytes: a path and what is wrong with it */
};

#define PCAP_MAGIC_US 0xa1b2c3d4u /* draft-ietf-opsawg-pcap */
#define PCAP_MAGIC_NS 0xa1b23c4du
#define PCAPNG_SECTION 0x0a0d0d0au /* draft-ietf-opsawg-pcapng */
#define PCAPNG_BYTE_ORDER 0x1a2b3c4du
enum {
  PCAPNG_INTERFACE = 1, PCAPNG_OBSOLETE = 2, PCAPNG_SIMPLE = 3, PCAPNG_ENHANCED = 6
};

/* Memory over a part of the file: `cursor` is at the next byte, `limit` behind the
 * last. With `keep` it holds all from the file's start, unless that is too much. */
struct window {
  uint8_t *bytes;
  size_t size, cursor, limit;
  uint64_t base;              /* the offset in the file of bytes[0] */
  uint64_t skip, skip_from;   /* bytes to be passed over, from that offset on */
  bool ended, keep;
};

/* What a look for the next packet finds. */
enum found { FOUND, WAITING, ENDED, DAMAGED };

/* A file being read. */
struct capture {
  struct source source;
  struct window window;
  bool begun;                 /* its header has been read */
  bool pcapng, swap;
  uint32_t snaplen;           /* pcap: most bytes of a record */
  uint32_t *interfaces;       /* pcapng: the same, of each interface of the section */
  uint32_t n_interfaces, room;
  uint64_t packets;           /* passed, in this round */
  enum found state;           /* ENDED and DAMAGED are for good */
  char sentence[PCAP_SENTENCE]; /* what is wrong with it */
};

/* A packet's bytes in the window. */
struct slice {
  const uint8_t *data;
  uint32_t length;
};

/* Memory for a window, and back. */
int window_open(struct window *w);
void window_close(struct window *w);
/* Have `n` bytes at the cursor: FOUND; WAITING; ENDED, with fewer; DAMAGED, when the
 * file can't be read. */
enum found window_need(struct capture *c, size_t n);

static inline size_t window_has(const struct window *w)
{
  return w->limit - w->cursor;
}

static inline uint64_t window_offset(const struct window *w)
{
  return w->base + w->cursor;
}

int capture_open(struct capture *c, const char *path);
/* Up to `n` packets that are in the window; when there is none, `state` says why. They
 * are there until the next call. */
uint16_t capture_next(struct capture *c, struct slice *slices, uint16_t n);
/* Begin again with the first packet. */
void capture_restart(struct capture *c);
void capture_close(struct capture *c);

/* Set the sentence, which begins with the path; DAMAGED. */
enum found capture_damaged(struct capture *c, const char *format, ...)
  __attribute__((format(printf, 2, 3)));

/* blocks.c: pcapng, as the functions of records.c for pcap. */
uint16_t blocks_gather(struct capture *c, struct slice *slices, uint16_t n);
enum found blocks_step(struct capture *c);

static inline uint32_t read32(const uint8_t *p, bool swap)
{
  return swap ? __builtin_bswap32(load32(p)) : load32(p);
}

static inline uint16_t read16(const uint8_t *p, bool swap)
{
  return swap ? __builtin_bswap16(load16(p)) : load16(p);
}

static inline uint32_t snaplen_of(uint32_t said)
{
  return said == 0 || said > PCAP_MAX_CAPTURED ? PCAP_MAX_CAPTURED : said;
}

/* What one of `copies` that divide a file takes of it (share.c). */
struct share {
  uint32_t copies, copy;      /* 0 copies: all of it */
  int32_t by;                 /* enum flows_by */
  bool listed;                /* of a file that is kept in memory: */
  struct slice *list;         /* its packets; */
  uint32_t n, room, at;       /* how many; room for so many; the next one */
};

/* Those of `n` packets that are its own, in front; how many. */
uint16_t share_keep(const struct share *s, struct slice *slices, uint16_t n);
/* List those of the file, which is kept in memory and at its start; and up to `n` of them,
 * over and over. */
void share_list(struct share *s, struct capture *c);
uint16_t share_next(struct share *s, struct slice *slices, uint16_t n);
void share_close(struct share *s);

struct rte_mbuf;

/* A file being written. What is in the buffer are whole records. */
struct output {
  const char *path;
  int fd;
  bool pcapng, stream, failed;
  uint8_t *buffer;
  size_t used, done;          /* bytes in the buffer; of these in the file */
  uint64_t start;             /* the offset in the file of buffer[0] */
  uint64_t packets, bytes;    /* taken to be written */
  uint64_t lost, lost_bytes;  /* of these */
  char sentence[PCAP_SENTENCE];
};

int output_open(struct output *o, const char *path);
/* Write packets with the time of now; how many were taken (a stream's reader may be
 * slow). None is freed. */
uint16_t output_send(struct output *o, struct rte_mbuf **packets, uint16_t n);
/* Put what is in the buffer into the file. */
void output_flush(struct output *o);
void output_close(struct output *o);
