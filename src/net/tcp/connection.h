/* SPDX-License-Identifier: Apache-2.0
 *
 * TCP connections (and UDP's exchanges) by the million, for measuring: their records, and
 * an endpoint, a client or a server, that has them. Plain declarations: LuaJIT reads this
 * file (core.declare). Data that is sent follows from where it is in the stream, and what
 * is received isn't kept, so that a connection is its record (README.md).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet;
struct flow_table;

/* RFC 9293, section 3.3.2. LISTEN is the server itself. */
enum tcp_state {
  TCPS_CLOSED, TCPS_SYN_SENT, TCPS_SYN_RECEIVED, TCPS_ESTABLISHED, TCPS_FIN_WAIT_1,
  TCPS_FIN_WAIT_2, TCPS_CLOSE_WAIT, TCPS_CLOSING, TCPS_LAST_ACK, TCPS_TIME_WAIT
};

/* Addresses in network order; IPv4's in the first 4 bytes, the others are 0. */
struct tcp_key {
  uint8_t local[16], remote[16];
  uint16_t local_port, remote_port; /* network order */
  uint8_t family, protocol;         /* 4 or 6; IANA's number */
  uint8_t unused[2];
};

struct tcp_range { uint32_t from, to; }; /* sequence numbers: from, and the first behind */

enum { TCP_RANGES = 3 };
struct tcp_connection {
  struct tcp_key key;
  uint16_t flags;
  uint8_t state, acks_owed, duplicate_acks;
  uint8_t retries, window_shift, slot_level;
  uint8_t input, due;        /* input: of enum tcp_input; due: messages to be sent */
  uint8_t input_told, line;  /* is the length known; has the line of the head a byte */
  uint16_t mss, head;        /* head: bytes of a head that have been read */
  uint8_t match[2], mac[6];  /* match: of the names of HTTP's fields; mac: the peer's */

  uint32_t una, next, most;  /* sent: the first unacknowledged; next; the highest */
  uint32_t window, window_seq, window_ack; /* the peer's, and by which segment */
  uint32_t expected;         /* the next to receive */
  uint32_t congestion, threshold, recover; /* RFC 5681, RFC 6582 */
  uint32_t srtt, rttvar, rto;              /* RFC 6298, in microseconds */
  uint32_t timed, timed_at;  /* the segment whose round trip is measured; us, 0: none */
  uint32_t out_from, out_to; /* the message that is sent, in sequence numbers */
  uint32_t in_left;          /* bytes to come of the message that is received */
  uint32_t turns;            /* requests that have been answered */
  uint32_t asked_at;         /* us: when the SYN, or the request, was sent */
  uint32_t ends;             /* tick from which it may be closed */
  uint32_t stalled;          /* tick since which nothing has been acknowledged */
  uint32_t resend_at, act_at, wheel_at;    /* ticks; 0: none */
  uint32_t before, after;    /* in a list of the wheel */
  uint32_t ready;            /* behind it in the list of those that may send */
  struct tcp_range range[3]; /* received out of order, in order; from == to: none */
};

enum { TCP_SLOTS = 1024 };
struct tcp_wheel {
  uint32_t tick;             /* done with; of 2^20 ns */
  uint32_t level[2][1024];   /* the first of each list, or 0 */
};

/* So many addresses from one on. */
struct tcp_addresses { uint8_t first[16]; uint32_t count; uint32_t family; };
struct tcp_ports { uint32_t first, count; };
struct tcp_hop { uint8_t mac[6]; uint8_t known, unused; };

/* What one side sends each time: its first bytes, and how many in all. */
struct tcp_message { uint8_t head[1024]; uint32_t head_length, length; };

/* A request and its answer, and the pause before the request; a conversation is so many
 * of them, one behind the other. */
struct tcp_turn { uint32_t request, response, think; };
struct tcp_conversation { uint32_t first, turns; };

/* Ends of connections, the first seven; the sum of them and of those still open is what
 * was started. */
struct tcp_counts {
  uint64_t started, established, closed, reset, refused, timed_out, aborted, open;
  uint64_t in_time_wait;     /* among closed: their records are still there */
  uint64_t requests, answers, failed_answers, unreadable, cut_short;
  uint64_t bytes_sent, bytes_received, bytes_resent;
  uint64_t packets_sent, packets_received;
  uint64_t timeouts, fast_retransmits, retransmits, probes;
  uint64_t out_of_order, duplicates, resets_sent;
  uint64_t bad_checksum, malformed, fragments, not_ours, no_room, no_tuple, no_buffer;
};

enum { TCP_BURST = 256, TCP_SAMPLES = 512 };
struct tcp_samples { uint32_t n; float ns[512]; };

struct tcp_endpoint {
  struct flow_table *table;
  bool server, http, udp;
  bool held;                 /* opens nothing more; a server takes nothing more */
  uint8_t mac[6];
  uint16_t vlan;             /* 0: no tag */
  uint16_t mtu;
  uint32_t window;           /* that it offers, in bytes */
  uint32_t limit;            /* of open connections */
  uint32_t requests;         /* a connection */
  uint32_t think, life, time_wait, give_up, idle; /* ticks */
  uint32_t least_rto;        /* us */
  struct tcp_addresses clients, servers;
  struct tcp_ports client_ports, server_ports;
  struct tcp_message out;
  uint32_t in_length;        /* bytes of a message, where it isn't HTTP */
  struct tcp_turn *turns;    /* of conversations, if there are any: else all are alike */
  struct tcp_conversation *conversations;
  uint32_t conversation_count;
  struct tcp_hop *hops;      /* by address of a server, or one for all */
  uint32_t hop_count;
  uint64_t next_tuple, tuples;

  struct tcp_counts counts;
  struct tcp_wheel wheel;
  uint64_t now;              /* ns */
  uint32_t ready_first, ready_last;
  uint32_t awaited;          /* a client's connections whose peer is to answer next */
  uint32_t ip_id;
  struct tcp_samples connect, first_byte;
  uint32_t outs, out_room, spares, others;
  struct packet *outgoing[256], *spare[256], *other[256];
};

/* endpoint.c */
struct tcp_endpoint *pg_tcp_new(uint32_t limit, uint64_t seed, uint64_t now);
void pg_tcp_free(struct tcp_endpoint *e);
uint32_t pg_tcp_open(struct tcp_endpoint *e, uint32_t n, uint64_t now);
bool pg_tcp_abort(struct tcp_endpoint *e, uint32_t *number);
int64_t pg_tcp_index(const struct tcp_addresses *a, const uint8_t *address);

/* input.c */
void pg_tcp_input(struct tcp_endpoint *e, struct packet *const *packets, uint32_t n,
                  uint64_t now);
/* timer.c */
void pg_tcp_timers(struct tcp_endpoint *e, uint64_t now);
uint64_t pg_tcp_due(const struct tcp_endpoint *e);
/* output.c */
uint32_t pg_tcp_output(struct tcp_endpoint *e, uint64_t now);
