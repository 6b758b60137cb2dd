/* SPDX-License-Identifier: Apache-2.0
 *
 * memif version 2.0 as it goes over the socket and is in shared memory: the layout that
 * VPP (src/plugins/memif/memif.h) and DPDK (drivers/net/memif/memif.h) agree on.
 *
 * One end is the client (VPP: slave): it brings the memory, and connects. The other is
 * the server (master). Rings are named from the client's end: by C2S the client sends, by
 * S2C it receives. The client writes each ring's `head`, the server its `tail`: of a C2S
 * ring what is from tail to head are packets, of an S2C ring these are buffers to fill.
 */
#pragma once

#include <stdint.h>

enum { MEMIF_VERSION = 0x200, MEMIF_COOKIE = 0x3e31f20, MEMIF_ETHERNET = 0 };

enum { MEMIF_ACK = 1, MEMIF_HELLO, MEMIF_INIT, MEMIF_ADD_REGION, MEMIF_ADD_RING,
       MEMIF_CONNECT, MEMIF_CONNECTED, MEMIF_DISCONNECT };

enum { MEMIF_C2S = 1 };      /* of an ADD_RING's flags */
enum { MEMIF_NEXT = 1 };     /* of a descriptor's: the packet goes on in the next */
enum { MEMIF_QUIET = 1 };    /* of a ring's: who receives by it looks by itself */

/* A message is always of 128 bytes; descriptors of files come beside it. */
struct memif_message {
  uint16_t type;
  union {
    struct __attribute__((packed)) {
      char name[32];
      uint16_t least_version, most_version, last_region, last_s2c, last_c2s;
      uint8_t most_log2;
    } hello;
    struct __attribute__((packed)) {
      uint16_t version;
      uint32_t id;
      uint8_t mode;
      uint8_t secret[24];
      char name[32];
    } init;
    struct __attribute__((packed)) {
      uint16_t index;
      uint64_t size;
    } add_region;
    struct __attribute__((packed)) {
      uint16_t flags, index, region;
      uint32_t offset;
      uint8_t log2;
      uint16_t private_bytes;
    } add_ring;
    struct __attribute__((packed)) {
      char name[32];
    } connect;               /* and of CONNECTED */
    struct __attribute__((packed)) {
      uint32_t code;
      char reason[96];
    } disconnect;
    uint8_t bytes[126];
  };
} __attribute__((packed));

_Static_assert(sizeof(struct memif_message) == 128, "memif.h of VPP and DPDK");

/* A descriptor, as two words that are read once each: from the lowest bit on flags (16),
 * region (16) and length (32); offset (32) and metadata (32). */
struct memif_descriptor {
  uint64_t what, where;
};

struct memif_ring {
  uint32_t cookie;
  uint16_t flags;
  uint16_t head;
  uint8_t pad1[56];
  uint16_t tail;
  uint8_t pad2[62];
  struct memif_descriptor descriptors[];
};

_Static_assert(sizeof(struct memif_ring) == 128, "memif.h of VPP and DPDK");
