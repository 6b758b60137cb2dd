/* SPDX-License-Identifier: Apache-2.0
 *
 * What apps.lwaftr shares with its C; plain declarations, as in api.h. IPv4 addresses
 * and ports are in host order, IPv6 addresses as on the wire.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet;

/* The ends of a softwire's tunnel: the B4's address (never ::) and the border router's. */
struct softwire_ends { uint8_t b4[16], br[16]; };

/* A softwire, as it is configured. `reserved`: so many bits of ports, the lowest
 * 2^reserved, belong to nobody (0: none). */
struct softwire {
  uint32_t ipv4;
  uint16_t psid;
  uint8_t psid_length, reserved;
  struct softwire_ends ends;
};

struct softwire_table;

/* softwires.c: the binding table. What pg_softwires_add returns: */
enum {
  SOFTWIRE_OK, SOFTWIRE_EXISTS, SOFTWIRE_OTHER_PORT_SET, SOFTWIRE_BAD_PORT_SET,
  SOFTWIRE_NO_B4, SOFTWIRE_NO_MEMORY
};
struct softwire_table *pg_softwires_new(void);
void pg_softwires_free(struct softwire_table *table);
void pg_softwires_share(struct softwire_table *table);
int pg_softwires_add(struct softwire_table *table, const struct softwire *softwire,
                     bool replace);
bool pg_softwires_remove(struct softwire_table *table, uint32_t ipv4, uint16_t psid);
bool pg_softwires_get(struct softwire_table *table, uint32_t ipv4, uint16_t psid,
                      struct softwire *result);
bool pg_softwires_find(struct softwire_table *table, uint32_t ipv4, uint16_t port,
                       struct softwire_ends *result);
int pg_softwires_port_set(struct softwire_table *table, uint32_t ipv4);
bool pg_softwires_is_managed(struct softwire_table *table, uint32_t ipv4);
uint32_t pg_softwires_count(const struct softwire_table *table);
double pg_softwires_bytes(const struct softwire_table *table);
uint32_t pg_softwires_list(struct softwire_table *table, struct softwire *list,
                           uint32_t room);

/* binding.c: the tables that are in use. */
struct lwaftr_binding;
struct lwaftr_path;
struct lwaftr_binding *pg_binding_new(struct softwire_table *table);
struct lwaftr_binding *pg_binding_find(int id);
int pg_binding_id(const struct lwaftr_binding *binding);
void pg_binding_release(struct lwaftr_binding *binding);
bool pg_binding_join(struct lwaftr_binding *binding, struct lwaftr_path *path);
void pg_binding_part(struct lwaftr_path *path);
bool pg_binding_swap(struct lwaftr_binding *binding, struct softwire_table *table);

/* scan.c: configuration files, token by token. `text` is the token's, ended by a NUL;
 * `line` is where it begins. */
enum {
  SCAN_END, SCAN_WORD, SCAN_OPEN, SCAN_CLOSE, SCAN_SEMICOLON, SCAN_OPEN_QUOTE,
  SCAN_OPEN_COMMENT, SCAN_TOO_LONG, SCAN_NO_MEMORY, SCAN_READ_ERROR,
  SCAN_MOST_BYTES = 1048576  /* of a word or text, with the NUL */
};
struct lwaftr_scan {
  void *file;
  char *text;
  uint32_t length, room, line, now;
  int kind, next;
  bool pushed, quoted;
};
struct lwaftr_scan *pg_scan_file(const char *path);
struct lwaftr_scan *pg_scan_text(const char *text, uint32_t length);
void pg_scan_close(struct lwaftr_scan *scan);
int pg_scan_token(struct lwaftr_scan *scan);
void pg_scan_push(struct lwaftr_scan *scan);

/* softwire_list.c: a list of softwires, read straight into a table. What
 * pg_scan_softwires returns, besides the SOFTWIRE_ results: */
enum {
  LIST_OK = 0, LIST_SYNTAX = 16, LIST_KEY, LIST_VALUE, LIST_TWICE, LIST_MISSING
};
struct softwire_list {
  struct softwire last;      /* the one read last */
  const char *key;           /* the leaf that is wrong */
  uint32_t line;             /* where it is */
  bool bare;                 /* are there only the braces of each? */
};
int pg_scan_softwires(struct lwaftr_scan *scan, struct softwire_table *table,
                      struct softwire_list *list);

/* softwire_text.c */
enum { SOFTWIRE_VALUE_MAX = 46 }; /* bytes: an IPv6 address (INET6_ADDRSTRLEN) */
uint64_t pg_print_softwires(const struct softwire *softwires, uint32_t n, const char *plain,
                            const char *reserved, char *text);

/* loader.c: reading a configuration in a thread of its own. */
struct lwaftr_load {
  char *file;
  bool done, good;           /* good: `text` is the configuration, else what is wrong */
  uint32_t length;
  char *text;
  struct softwire_table *table;
};
struct lwaftr_load *pg_load_start(const char *file, const char *path, const char *cpath);
bool pg_load_done(const struct lwaftr_load *load);
void pg_load_say(struct lwaftr_load *load, bool good, const char *text, uint32_t length);
void pg_load_free(struct lwaftr_load *load);

/* encapsulate.c, decapsulate.c: bursts of up to PATH_BURST packets through the lwAFTR.
 * What has come of each is its result; what is more than 0 is left as it was, but for the
 * time to live where that has been counted down. */
enum { PATH_BURST = 256 };
enum {
  PATH_DONE, PATH_HAIRPIN,   /* decapsulated, and for another softwire */
  PATH_MISPLACED, PATH_ICMP_POLICY, PATH_BAD_CHECKSUM, PATH_FRAGMENT, PATH_INVALID,
  PATH_NO_SOFTWIRE, PATH_EXPIRED, PATH_TOO_BIG, PATH_ICMP6, PATH_UNKNOWN_PROTOCOL,
  PATH_OTHER_ENDS            /* a softwire, but not of these IPv6 addresses */
};
struct lwaftr_sum { uint64_t packets, bytes; };

/* Where the fast ways count what they take in and send: NULL where nobody does. */
struct lwaftr_counts {
  struct counter *packets, *bytes;
  struct counter *untouched; /* neither put together nor cut */
};
struct lwaftr_path {
  struct lwaftr_binding *binding; /* pg_binding_join sets it, `reader`, and types */
  uint32_t reader;
  uint32_t flow_label;
  uint32_t mtu, mtu4;        /* of IPv6 and IPv4 */
  bool known4, known6;       /* are the MAC addresses known? (inet.c, b4.c) */
  bool allow_icmp4, allow_icmp6, hairpinning;
  uint8_t macs4[14], macs6[14]; /* of what is sent: destination, source, and type */
  struct lwaftr_sum in, out, hairpin; /* of the last burst: bytes with Ethernet */
  struct lwaftr_counts in_counts, out4_counts, out6_counts, hairpin_counts;
};
int pg_lwaftr_encapsulate(struct lwaftr_path *path, struct packet **packets, int n,
                          uint8_t *results, bool hairpinned);
int pg_lwaftr_decapsulate(struct lwaftr_path *path, struct packet **packets, int n,
                          uint8_t *results);
bool pg_lwaftr_br(struct lwaftr_path *path, const struct packet *p, uint8_t *br);
bool pg_lwaftr_is_managed(struct lwaftr_path *path, uint32_t ipv4);

/* inet.c, b4.c: the same for packets without particulars, the rest is left as it was.
 * Routes: */
enum { INET_V6 = 1, INET_SLOW };
enum { B4_V4 = 1, B4_V6, B4_SLOW };
void pg_lwaftr_inet(struct lwaftr_path *path, struct packet **packets, int n,
                    uint8_t *route);
void pg_lwaftr_b4(struct lwaftr_path *path, struct packet **packets, int n,
                  uint8_t *route);
