/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of this folder share: connections by number, and what happens to them.
 */
#pragma once

#include <netinet/in.h>

#include "../flow/find.h"
#include "../wire/sequence.h"
#include "../wire/wire.h"
#include "connection.h"

/* Flags of a connection. */
enum {
  C_READY = 1,      /* in the list of those that may send */
  C_SYN_OWED = 2,   /* its SYN is to be sent, again */
  C_RESEND = 4,     /* so is the first segment that isn't acknowledged */
  C_CLOSING = 8,    /* a FIN follows the message */
  C_PEER_DONE = 16, /* the peer's FIN has come */
  C_RECOVERY = 32,  /* fast recovery */
  C_PROBE = 64,     /* send a byte though the window is closed */
  C_SACK = 128,     /* the peer may be sent SACK options */
  C_SHIFTS = 256,   /* windows are scaled (RFC 7323) */
  C_ASKED = 512,    /* nothing of the answer has come yet */
  C_LAST = 1024,    /* close behind the message that is due */
  C_AWAITED = 2048  /* a client's: the next is the peer's, its SYN or an answer */
};

/* What is read of a message. */
enum tcp_input { IN_NOTHING, IN_FIRST_LINE, IN_LINE, IN_LENGTH, IN_BODY, IN_TO_END };

enum { TICK_SHIFT = 20 };
enum { FIRST_RTO = 1000000, MOST_RTO = 60000000 }; /* us: RFC 6298, sections 2.1, 2.5 */

/* A received segment. */
struct segment {
  const struct packet *packet;
  const uint8_t *data;
  uint32_t length;           /* of the data */
  uint32_t seq, ack, window;
  uint16_t mss;              /* 0: none said */
  uint8_t flags;
  int8_t shift;              /* of the window; -1: none said */
  bool sack_permitted, sacks; /* sacks: data beyond the acknowledged has arrived */
  const uint8_t *source_mac;
  struct tcp_key key;
};

static inline uint32_t tick_of(uint64_t ns) { return (uint32_t)(ns >> TICK_SHIFT); }
static inline uint32_t now_us(const struct tcp_endpoint *e)
{
  uint32_t us = (uint32_t)(e->now / 1000);
  return us ? us : 1;
}

static inline struct tcp_connection *connection_of(const struct tcp_endpoint *e,
                                                   uint32_t number)
{
  return (struct tcp_connection *)flow_record(&e->table->records, number);
}

static inline uint32_t number_of(const struct tcp_endpoint *e,
                                 const struct tcp_connection *c)
{
  return (uint32_t)(((const uint8_t *)c - e->table->records.record) /
                    e->table->records.size);
}

static inline uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t greatest(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* A client's peer is to answer: the SYN, or a request; or it has. */
static inline void tcp_await(struct tcp_endpoint *e, struct tcp_connection *c, bool awaited)
{
  if (awaited != ((c->flags & C_AWAITED) != 0)) {
    c->flags ^= C_AWAITED;
    e->awaited += awaited ? 1 : -1;
  }
}

/* Put it into the list of those that may send (output.c). */
void tcp_make_ready(struct tcp_endpoint *e, struct tcp_connection *c);
/* A segment with `n` bytes of the message from `seq` on, or the answer to one that belongs
 * to nothing; false: there is no room (segment.c). */
bool tcp_emit(struct tcp_endpoint *e, struct tcp_connection *c, uint32_t seq, uint32_t n,
              uint32_t flags);
bool tcp_send_reset(struct tcp_endpoint *e, const struct segment *s);

/* The whole message as a datagram (segment.c). */
bool tcp_emit_datagram(struct tcp_endpoint *e, const struct tcp_key *key,
                       const uint8_t *mac);
/* Does the server listen there (input.c)? */
bool tcp_listens(const struct tcp_endpoint *e, const struct segment *s);

/* udp.c: what the names say of TCP, for UDP's exchanges. */
void tcp_udp_open(struct tcp_endpoint *e, struct tcp_connection *c);
bool tcp_udp_send(struct tcp_endpoint *e, struct tcp_connection *c);
void tcp_udp_timeout(struct tcp_endpoint *e, struct tcp_connection *c);
void tcp_udp_act(struct tcp_endpoint *e, struct tcp_connection *c);
void tcp_udp_input(struct tcp_endpoint *e, struct tcp_connection *c,
                   const struct segment *s);

/* Its timers have changed (timer.c). */
void tcp_schedule(struct tcp_endpoint *e, struct tcp_connection *c);
void tcp_unschedule(struct tcp_endpoint *e, struct tcp_connection *c);
void tcp_resend_later(struct tcp_endpoint *e, struct tcp_connection *c);

/* It is over, and counted under this of the counts; or waits for the peer's last
 * segments (endpoint.c). */
void tcp_end(struct tcp_endpoint *e, struct tcp_connection *c, uint64_t *count);
void tcp_time_wait(struct tcp_endpoint *e, struct tcp_connection *c);
/* End it, and tell the peer by a reset. */
void tcp_abort(struct tcp_endpoint *e, struct tcp_connection *c, uint64_t *count);
struct tcp_connection *tcp_new_connection(struct tcp_endpoint *e,
                                          const struct tcp_key *key, uint8_t state);
void tcp_remove(struct tcp_endpoint *e, struct tcp_connection *c);

/* Begin: a SYN is sent (endpoint.c). */
void tcp_open(struct tcp_endpoint *e, struct tcp_connection *c);

/* parse.c: is it a segment for this endpoint, and whole? */
enum parsed { PARSED_NOT, PARSED_SEGMENT, PARSED_OTHER };
enum parsed tcp_parse(struct tcp_endpoint *e, const struct packet *p, struct segment *s);
/* early.c: so many bytes from `expected` on have come, or some behind them. */
void tcp_take(struct tcp_endpoint *e, struct tcp_connection *c, const uint8_t *data,
              uint32_t n);
void tcp_keep_early(struct tcp_connection *c, uint32_t from, uint32_t to);
bool tcp_has_early(const struct tcp_connection *c);

/* acknowledge.c: what the segment acknowledges. */
void tcp_acknowledge(struct tcp_endpoint *e, struct tcp_connection *c,
                     const struct segment *s);
void tcp_reset_rto(struct tcp_connection *c, uint32_t least_rto);
void tcp_measure(struct tcp_connection *c, uint32_t us, uint32_t least_rto);

/* talk.c: what is said over a connection. It is established; so many bytes have come in
 * order; the peer sends no more; its time has come; all that was sent has arrived. */
void tcp_established(struct tcp_endpoint *e, struct tcp_connection *c);
void tcp_receive(struct tcp_endpoint *e, struct tcp_connection *c, const uint8_t *data,
                 uint32_t n);
void tcp_peer_done(struct tcp_endpoint *e, struct tcp_connection *c);
void tcp_act(struct tcp_endpoint *e, struct tcp_connection *c);
void tcp_say(struct tcp_endpoint *e, struct tcp_connection *c);
uint32_t tcp_unread(const struct tcp_connection *c);
void tcp_close(struct tcp_endpoint *e, struct tcp_connection *c);

static inline void add_sample(struct tcp_samples *s, double ns)
{
  if (s->n < TCP_SAMPLES)
    s->ns[s->n++] = (float)ns;
}
