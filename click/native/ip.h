/* SPDX-License-Identifier: Apache-2.0
 *
 * What Click's IP elements share with their kernels: rare work with loops, which would
 * cost LuaJIT the loops around it. Plain declarations, as in native/api.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet;

/* Annotations of packets that the kernels use, as click.note numbers them. */
enum {
  NOTE16_MAC = 0, NOTE16_NETWORK = 1, NOTE16_TRANSPORT = 2, NOTE8_PACKET_TYPE = 6,
  NOTE64_TIMESTAMP = 1, NOTE32_DST_IP = 4, NOTE8_ICMP_PARAMPROB = 32,
  NOTE8_FIX_IP_SRC = 35,
  PACKET_TYPE_BROADCAST = 1, PACKET_TYPE_MULTICAST = 2
};

/* An interface of a router: addresses in network order. */
struct ip4_gateway {
  uint32_t address;
  uint32_t n;                /* others it has: */
  const uint32_t *others;
};

/* ip4_options.c */
int32_t pg_ip4_gateway_options(const struct ip4_gateway *g, uint8_t *header,
                               uint32_t now_ms);

/* A prefix in network order, and an Ethernet address for it. */
struct ip4_neighbours { uint32_t prefix, mask; uint8_t eth[8]; };

/* ip6_extensions.c */
uint32_t pg_ip6_transport(const uint8_t *ip6, uint32_t available);

/* prefixes.c */
int32_t pg_ip4_neighbours_find(const struct ip4_neighbours *list, uint32_t n,
                               uint32_t address);

/* What an ICMPError makes. Addresses in network order; the rest in the host's. */
struct icmp_error {
  uint32_t source;
  uint32_t nbad;
  const uint32_t *bad;       /* addresses that get no errors */
  uint16_t *id;              /* of the next one, of all the router's elements */
  uint16_t mtu, path_mtu;    /* most bytes of an error; what it tells of the path */
  uint8_t type, code;
  bool fix_source;           /* let the interface it leaves by give the source */
};

/* icmp_error.c */
bool pg_icmp_error(struct icmp_error *e, const struct packet *about, struct packet *q,
                   double now);

/* ip4_fragment.c */
void pg_ip4_fragment_notes(const struct packet *p, struct packet **fragments, int32_t n,
                           uint32_t at);

/* The keys of an IPsec tunnel: of AES by rounds, and what SHA-1 makes of the other. */
enum { ESP_KEY = 16, ESP_DIGEST = 12 };
struct esp_keys { uint8_t encrypt[11][16], decrypt[11][16]; uint32_t inner[5], outer[5]; };

/* esp.c */
bool pg_esp_prepare(struct esp_keys *keys, const uint8_t *cipher, const uint8_t *auth);
void pg_esp_encrypt(const struct esp_keys *keys, uint8_t *data, uint32_t n,
                    const uint8_t *iv);
void pg_esp_decrypt(const struct esp_keys *keys, uint8_t *data, uint32_t n,
                    const uint8_t *iv);
void pg_esp_digest(const struct esp_keys *keys, const uint8_t *data, uint32_t n,
                   uint8_t *digest);
