/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams of TCP on their way through (README.md). Plain declarations: LuaJIT reads this
 * file (core.declare). Sequence numbers are of 32 bits, and wrap.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet;

/* A TCP segment over IPv4 in a packet. Offsets are from the packet's first byte. */
struct stream_segment {
  uint32_t seq, ack, window;
  uint16_t ip, tcp, payload; /* where each begins */
  uint16_t length;           /* of the payload: what IP's length says */
  uint16_t now;              /* of the payload: up to the packet's end */
  uint16_t mss;              /* of a SYN; 0: it has no such option */
  uint8_t flags;
};

/* `old` bytes of a stream from `at` on became `fresh` others; `growth` is what changes
 * before it added. Up to 8 bytes lie here. */
struct stream_change {
  uint32_t at;
  int32_t growth;
  uint16_t old, fresh;
  union { uint8_t near[8]; uint8_t *far; };
};

/* What became of a stream, as long as some of it may be sent again. */
enum {
  STREAM_CHANGES_MOST = 4096, STREAM_CHANGES_BYTES_MOST = 1 << 22,
  STREAM_MEMORY_MOST = 1 << 26 /* of all streams together, in bytes */
};
struct stream_changes {
  struct stream_change *list;
  uint32_t n, room;
  uint32_t bytes;            /* in `far` */
  int32_t growth;            /* of changes that are forgotten */
  uint32_t made;             /* 1: there were some */
};

/* Segments that wait for others, by sequence number. An empty queue has no memory. */
struct stream_waiting { uint32_t seq, end; struct packet *packet; };
struct stream_queue {
  struct stream_waiting *list;
  uint32_t n, room;
};

/* segment.c */
bool pg_stream_look(const struct packet *p, uint32_t ip, struct stream_segment *s);
bool pg_stream_sound(const struct packet *p, const struct stream_segment *s);
bool pg_stream_refuse_sack(struct packet *p, const struct stream_segment *s);
void pg_stream_trim(struct packet *p, const struct stream_segment *s, uint32_t n);
void pg_stream_cut(struct packet *p, const struct stream_segment *s, uint32_t first,
                uint32_t n);
void pg_stream_write(struct packet *p, const struct stream_segment *s, uint32_t seq,
                  uint32_t ack);

/* changes.c */
uint32_t pg_stream_sent(const struct stream_changes *c, uint32_t seq);
uint32_t pg_stream_acked(const struct stream_changes *c, uint32_t ack);
void pg_stream_forget(struct stream_changes *c, uint32_t ack);
void pg_stream_changes_free(struct stream_changes *c);
int32_t pg_stream_rewritten(const struct stream_changes *c, uint32_t seq, const uint8_t *in,
                         uint32_t n, uint8_t *out, uint32_t room, uint32_t *first);

/* edit.c */
enum { STREAM_EDITED, STREAM_NO_ROOM, STREAM_TOO_MANY };
int pg_stream_edit(struct stream_changes *c, struct packet *p, const struct stream_segment *s,
                uint32_t position, uint32_t old, const uint8_t *bytes, uint32_t fresh,
                uint32_t most);

int pg_stream_send_again(const struct stream_changes *c, struct packet *p,
                      const struct stream_segment *s);

/* queue.c */
enum { STREAM_KEPT, STREAM_KNOWN, STREAM_FULL };
int pg_stream_wait(struct stream_queue *q, uint32_t seq, uint32_t end, struct packet *p,
                uint32_t most);
struct packet *pg_stream_next(struct stream_queue *q, uint32_t seq);
struct packet *pg_stream_any(struct stream_queue *q);
