/* SPDX-License-Identifier: Apache-2.0
 *
 * Routes, found by the longest prefix of an address (RFC 4632). Plain declarations, as
 * in native/api.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet;

/* A table of IPv4 routes. They lie in arrays that grow without being copied, and are
 * laid out for lookups bit by bit, so that packets needn't wait for large tables.
 * Routes by their places, from 1 on. Addresses in host order. */
struct ip4_route {
  uint32_t address, mask, gateway;
  int32_t port;
  int32_t same_bucket;             /* the next in that list; 0: none */
  int32_t same_chunk, before_chunk;
  uint16_t way;
  int8_t length;                   /* of the prefix; -1: the mask has holes */
  bool used;
};

/* Where routes lead to, from 1 on: the gateway as it lies in headers (0: none), and the
 * port, from 1. Way 0 is that of addresses without a route: port -1. `routes` lead there;
 * `next` has the same hash, or is free, too. */
struct ip4_way { int32_t gateway, port, next, routes; };

/* A chunk is 65536 addresses with the same first 16 bits. `n` is 0 if all of them have
 * the same way, which is `at` (0: none); else that many ranges from ranges[at] on say
 * it, each from an address's lower 16 bits on. */
struct ip4_range { uint16_t start, way; };
struct ip4_chunk { int32_t at, n; };

struct ip4_table {
  /* For lookups. */
  struct ip4_chunk *chunk;
  struct ip4_range *ranges;
  struct ip4_way *ways;
  /* The routes: `n`, none behind `last`, none free before `hole`. */
  struct ip4_route *routes;
  int32_t *buckets;
  int32_t capacity, n, last, hole, odd; /* odd: masks with holes */
  /* Ways by their hash. */
  int32_t *way_buckets;
  int32_t nways, free_way; /* the first that is free; 0: those behind nways */
  /* For laying out: ways of prefixes of up to 16 bits, by a 1 and those bits; the first
   * route of each chunk with a longer one; chunks that have changed, a bit each. */
  uint16_t *short_ways;
  int32_t *first;
  uint64_t *changed;
  int32_t changed_from, known; /* words before are 0; routes up to there are in here */
  uint32_t capacity_ranges, used_ranges, useful_ranges;
  struct ip4_sorted *sorted;
  uint32_t capacity_sorted;
};

enum { IP4_NO_MEMORY = -1, IP4_TOO_MANY_WAYS = -2, IP4_MOST_WAYS = 65535 };

/* table.c */
bool pg_ip4_table_init(struct ip4_table *t);
void pg_ip4_table_free(struct ip4_table *t);
int32_t pg_ip4_table_find(const struct ip4_table *t, uint32_t address, uint32_t mask);
int32_t pg_ip4_table_put(struct ip4_table *t, uint32_t address, uint32_t mask,
                         uint32_t gateway, int32_t port);
void pg_ip4_table_remove(struct ip4_table *t, int32_t place);

/* layout.c */
int32_t pg_ip4_table_lay_out(struct ip4_table *t, int32_t most);
int32_t pg_ip4_table_look_up(const struct ip4_table *t, uint32_t address);
void pg_ip4_layout_add(struct ip4_table *t, int32_t place);
void pg_ip4_layout_change(struct ip4_table *t, int32_t place);
void pg_ip4_layout_remove(struct ip4_table *t, int32_t place);
void pg_ip4_layout_free(struct ip4_table *t);

/* Reading routes out of a text: how far it is, and what was found. */
struct ip4_reading {
  uint32_t at, size;         /* bytes of the text read, and there */
  int32_t number;            /* arguments read */
  int32_t again, most_port;  /* routes to prefixes that had one; the largest port */
  int32_t ports;             /* there are so many */
  bool replace;              /* the last route for a prefix counts, not the first */
};

/* "192.0.2.0/24"; the address as a number, as it is written. */
struct ip4_prefix { uint32_t address, length; };

/* text.c */
bool pg_ip4_prefix_read(const char *text, uint32_t size, struct ip4_prefix *prefix);
int32_t pg_ip4_table_read(struct ip4_table *t, const char *text, struct ip4_reading *r,
                          int32_t most);
uint32_t pg_ip4_table_text(const struct ip4_table *t, int32_t *place, char *text,
                           uint32_t size);

/* IPv6 routes, and a table of them for look-ups: ranges of addresses. */
struct ip6_route { uint8_t address[16]; uint32_t length, value; };
struct ip6_range;
struct ip6_table { struct ip6_range *ranges; uint32_t n; };

/* table6.c */
bool pg_ip6_table_build(struct ip6_table *t, struct ip6_route *routes, uint32_t n);
void pg_ip6_table_free(struct ip6_table *t);
uint32_t pg_ip6_table_look_up(const struct ip6_table *t, const uint8_t *address);

/* fib.c */
void *pg_fib_create(uint32_t max_routes);
int pg_fib_add(void *fib, uint32_t prefix, int depth, uint32_t next_hop);
void pg_fib_lookup(void *fib, struct packet **packets, int n, uint8_t *route);
void pg_fib_free(void *fib);
