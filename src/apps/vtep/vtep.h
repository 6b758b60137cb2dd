/* SPDX-License-Identifier: Apache-2.0
 *
 * What apps.vtep shares with its kernels (vtep.c); plain declarations, as in api.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../../net/fdb/fdb.h"

struct packet;

/* What a VNI or a remote has carried: frames sent through tunnels and received from
 * them, and those sent without knowing where their destination is (for a VNI the frames
 * themselves, for a remote the copies for it). Bytes are those of the frames. */
struct vtep_counts {
  uint64_t sent, sent_bytes, received, received_bytes, flooded, flooded_bytes;
};

/* A remote of apps.vtep: the outer header for it, the sums of its words that
 * apps.vtep.header tells of, whether it may be sent to, its address (IPv4: the first
 * word). The forwarding database's port is its number in an array. */
struct vtep_remote {
  uint8_t header[72];
  int32_t sum, pseudo, ready;
  int32_t peer[4];
  int32_t unused;
  struct vtep_counts counts;
  int32_t unused_too[10];    /* 192 bytes: three cache lines */
};

/* The remotes by address: `place` holds their numbers (0: free), each at the hash of its
 * address & mask or, if others lie there, behind. */
struct vtep_index {
  struct vtep_remote *remote;
  int32_t *place;
  int32_t mask, seed;
};

/* What apps.vtep's Decap lets in: VXLAN to this end. `page` and `leaf` number the
 * VNIs: leaf[page[vni / 4096] + vni % 4096], 0 for others. */
struct vxlan_end {
  const int32_t *page;
  const int16_t *leaf;
  struct fdb *fdb;
  const struct vtep_index *remotes;
  struct vxlan_vni *vnis;
  uint8_t ip[16];            /* the first 4, or all */
  uint8_t broadcast[4];      /* of its IPv4 network */
  uint8_t mac[6];
  uint16_t port;
  uint8_t family;            /* 4 or 6 */
  uint8_t keep_tags, flood_control;
  uint8_t strict;            /* let in nothing from remotes that aren't known */
};

/* A VNI of apps.vtep: `tag` is the 4 bytes of its VLAN tag, as this CPU reads them;
 * `mask`: -1, or 0 if it has none; `only`: the remote if it has just one to flood to,
 * or 0. */
struct vxlan_vni {
  int32_t vni, tag, mask, only;
  struct vtep_counts counts;
};

/* Where apps.vtep's Ingress sends frames: `by_vlan` numbers the VNIs, 0 for none; the
 * rest is as in vxlan_end. */
struct vxlan_segment {
  const struct fdb *fdb;
  struct vtep_remote *remotes;
  struct vxlan_vni *vnis;
  const int32_t *by_vlan;
  bool tags;                 /* take VLAN tags off */
  bool flood_control;        /* send what isn't for bridges to forward, too */
};

/* remotes.c, flow.c, ingress.c, decap.c */
enum {
  VXLAN_NEWS = 1 << 24, VXLAN_STRANGER = 1 << 23, /* from pg_vxlan_check */
  VXLAN_FLOOD = 1, VXLAN_TAG = 4                  /* from pg_vxlan_route */
};
int32_t pg_remote_find(const struct vtep_index *index, const int32_t *address);
void pg_remote_enter(const struct vtep_index *index, int32_t number);
void pg_remote_leave(const struct vtep_index *index, int32_t number);
int32_t pg_flow(const uint8_t *data, int32_t length);
int32_t pg_vxlan_route(const struct vxlan_segment *segment, struct packet *p);
int32_t pg_vxlan_check(const struct vxlan_end *end, uint8_t *data,
                       int32_t length);
