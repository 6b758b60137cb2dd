/* SPDX-License-Identifier: Apache-2.0
 *
 * What the C kernels of this folder and Lua share: filters, known
 * work. Plain declarations, as in api.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet;
struct link;

/* flows.c */
uint32_t pg_flow_hash(const struct packet *p);
uint32_t pg_rss_hash(const struct packet *p);
uint32_t pg_tuple_hash(uint32_t source, uint32_t destination, uint32_t ports);
uint32_t pg_bucket_of(uint32_t hash);
uint32_t pg_copy_of(uint32_t hash, uint32_t n);
uint32_t pg_copy_for_frame(const uint8_t *frame, uint32_t length, uint32_t n, int32_t by);

/* Buckets of flows, by their hashes; which output each goes to, and how many of its
 * packets have. */
enum { FLOW_BUCKETS = 128 };
struct steering {
  uint8_t owner[FLOW_BUCKETS];
  uint64_t packets[FLOW_BUCKETS];
};

/* What packets are handed out by: addresses and ports; pings by their identifier and ICMP
 * errors by what they quote, too; addresses alone. */
enum flows_by { FLOWS_BY_PORTS, FLOWS_WITHIN, FLOWS_BY_ADDRESSES };
int pg_distribute(struct link *link, struct link **outputs, uint32_t n, int32_t by);
int pg_distribute_by(struct link *link, struct link **outputs, struct steering *s,
                     int32_t by);
int pg_link_move(struct link *from, struct link *to);

/* news.c: what copies of an app on several CPUs tell each other. */
struct news {
  uint64_t told;  /* how often anything has been */
  uint64_t begun; /* or is being */
};
struct news *pg_news_open(const char *name);
void pg_news_close(struct news *n);
void pg_news_tell(struct news *n, uint32_t who, uint64_t key, uint64_t value);
bool pg_news_next(struct news *n, uint32_t who, uint64_t *at, uint64_t *key,
                  uint64_t *value);
bool pg_news_may_ask(struct news *n, uint64_t key, double now, double pause);

/* histogram.c: as Snabb's tools read it, one page. Bucket 0 is for what is below the
 * minimum, the last for the most; between them each is by the same factor wider than the
 * one before. */
enum { HISTOGRAM_BUCKETS = 509 };
struct histogram {
  double minimum, growth_factor_log;
  uint64_t total, buckets[HISTOGRAM_BUCKETS];
};
void pg_histogram_add(struct histogram *h, double value);

/* tally.c: events and apps are counted from 1; 0: none. */
struct tally_count { int64_t packets, bytes; };
struct tally_app {
  int64_t packets, bytes;    /* that came to it since the region was made */
  int64_t growth;            /* bytes that it has lengthened them by, if it says so */
  int32_t lengthens;         /* by how many each */
  int32_t first, last;       /* events of losses; none if last < first */
  int32_t astray;            /* event of packets with an output that there isn't */
  int32_t outs, nouts;       /* the first of its outputs, from 0, and how many */
};
struct tally_out {
  struct link *link;         /* within the region, or NULL */
  int64_t packets, bytes;    /* of the link when the region was made */
  int64_t carried;           /* packets since */
  int32_t event;             /* of packets that process() returned for it */
  int32_t emitted;           /* and of those by emit() */
  int32_t to;                /* app */
  bool closing;              /* does the link close a loop? */
};
struct tally_end { struct link *link; int64_t packets, bytes, seen; int32_t to; };
struct tally {
  struct tally_count *counts;       /* by event */
  int64_t *growth;                  /* bytes added, by app */
  struct tally_app *apps;
  struct tally_out *outs;
  struct tally_end *entries, *exits;
  int32_t *lost;                    /* events of packets that don't leave */
  int32_t napps, nouts, nentries, nexits, nlost;
  bool loops;                       /* are there links that close one? */
  bool unsummed;                    /* one entry, whose bytes nobody adds up */
};
void pg_tally_begin(struct tally *t);
int64_t pg_tally_account(struct tally *t);
bool pg_tally_moved(const struct tally *t);

/* A list in random order, and the pages it lies on. */
enum { LOAD_SMALL_PAGES, LOAD_RESERVED_PAGES, LOAD_TRANSPARENT_PAGES };
struct load_list {
  void *at, *memory;
  uint64_t elements;
  int32_t pages;
};

/* load.c */
void pg_spin(uint32_t additions);
double pg_spin_cycles(uint32_t additions);
double pg_core_per_tsc(void);
int pg_list_create(struct load_list *list, uint64_t elements, bool huge,
                   uint64_t seed);
void pg_list_free(struct load_list *list);
void pg_list_walk(struct load_list *list, uint32_t n);
double pg_list_cycles(struct load_list *list, uint32_t n);

/* A variant of SipHash: rounds, the state that the key gives, and the inputs'
 * size and distance in bytes (siphash.c). */
struct siphash {
  uint64_t state[4];
  uint32_t size, stride;
  uint8_t c, d;
  uint8_t as_specified, standard;
};

/* siphash.c */
uint32_t pg_siphash(const struct siphash *s, const void *input);
uint32_t pg_siphash_u64(const struct siphash *s, uint64_t input);
void pg_siphash_many(const struct siphash *s, const void *inputs,
                     uint32_t *hashes, uint32_t n);

/* An instruction of the BSD packet filter, and a program: libpcap's struct bpf_insn
 * and struct bpf_program. */
struct bpf { uint16_t code; uint8_t jt, jf; uint32_t k; };
struct bpf_code { uint32_t n; struct bpf *program; };

/* filter.c */
struct filter *pg_filter_new(const struct bpf *program, uint32_t n,
                             bool machine_code);
void pg_filter_free(struct filter *f);
int pg_filter(const struct filter *f, const uint8_t *data, uint32_t length);
