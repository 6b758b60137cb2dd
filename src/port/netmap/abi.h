/* SPDX-License-Identifier: Apache-2.0
 *
 * What netmap's kernel module and a program share, as netmap(4) describes it: version 14
 * of the interface, of Linux on 64-bit machines. `head` and `cur` of a ring are the
 * program's, `tail` is the kernel's, which looks at them in system calls only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#define NETMAP_DEVICE "/dev/netmap"

enum { NETMAP_VERSION = 14, NETMAP_NAME = 16, NETMAP_RING_ALIGN = 128,
       NETMAP_MOST_FRAGMENTS = 64 };

/* nmreq.nr_flags: all rings of the card, and nobody else has them. */
enum { NETMAP_ALL_RINGS = 0x1, NETMAP_EXCLUSIVE = 0x800 };

/* netmap_slot.flags: the frame goes on in the next slot. */
enum { NETMAP_GOES_ON = 0x20 };

/* The argument of NIOCREGIF, which binds a descriptor to a port. */
struct nmreq {
  char nr_name[NETMAP_NAME];
  uint32_t nr_version;
  uint32_t nr_offset;        /* (out) of the struct netmap_if in the memory */
  uint32_t nr_memsize;       /* (out) bytes to map */
  uint32_t nr_tx_slots, nr_rx_slots;
  uint16_t nr_tx_rings, nr_rx_rings;
  uint16_t nr_ringid, nr_cmd, nr_arg1, nr_arg2;
  uint32_t nr_arg3, nr_flags, nr_spare;
};

#define NIOCREGIF _IOWR('i', 146, struct nmreq)
#define NIOCTXSYNC _IO('i', 148)
#define NIOCRXSYNC _IO('i', 149)

/* Offsets of the rings from this: those to send, those to the host, those to receive,
 * those from the host. */
struct netmap_if {
  char ni_name[NETMAP_NAME];
  uint32_t ni_version, ni_flags;
  uint32_t ni_tx_rings, ni_rx_rings;
  uint32_t ni_bufs_head;
  uint32_t ni_host_tx_rings, ni_host_rx_rings;
  uint32_t ni_spare[3];
  int64_t ring_ofs[];
};

struct netmap_slot {
  uint32_t buf_idx;
  uint16_t len;
  uint16_t flags;
  uint64_t ptr;
};

struct netmap_ring {
  int64_t buf_ofs;           /* of buffer 0, from the ring */
  uint32_t num_slots, nr_buf_size;
  uint16_t ringid, dir;
  uint32_t head, cur, tail, flags;
  struct timeval ts;
  uint64_t offset_mask, buf_align;
  _Alignas(NETMAP_RING_ALIGN) uint8_t sem[128];
  struct netmap_slot slot[];
};

_Static_assert(sizeof(struct nmreq) == 60, "the number of NIOCREGIF has the size in it");
_Static_assert(offsetof(struct netmap_if, ring_ofs) == 56, "as the kernel's");
_Static_assert(offsetof(struct netmap_ring, head) == 20, "as the kernel's");
_Static_assert(offsetof(struct netmap_ring, slot) == 256, "as the kernel's");
_Static_assert(sizeof(struct netmap_slot) == 16, "as the kernel's");
