/* SPDX-License-Identifier: Apache-2.0
 *
 * What apps.vlan_switch shares with its kernel (vlan_switch.c); plain declarations, as
 * in src/native/api.h.
 */
#pragma once

#include <stdint.h>

struct freelist;
struct link;
struct packet;

/* Why packets are dropped, from 1; vlan_switch.lua has the names. */
enum vswitch_drop {
  VSWITCH_SHORT = 1, VSWITCH_OVERSIZE, VSWITCH_UNKNOWN_VLAN, VSWITCH_UNKNOWN_MAC,
  VSWITCH_OWN_PORT, VSWITCH_TAGGED, VSWITCH_DROPS
};

enum { VSWITCH_WAYS = 4 };   /* slots in a bucket */

/* As long as a line of the cache, at which the table begins. */
struct vswitch_bucket {
  uint64_t key[VSWITCH_WAYS];  /* VLAN and address; 0: empty */
  uint32_t seen[VSWITCH_WAYS]; /* seconds */
  uint16_t port[VSWITCH_WAYS];
  uint8_t fixed[VSWITCH_WAYS]; /* configured: isn't forgotten, doesn't move */
  uint8_t unused[VSWITCH_WAYS];
};

struct vswitch {
  struct vswitch_bucket *table;
  uint64_t seed;
  uint32_t mask;             /* buckets - 1 */
  uint32_t now, timeout;     /* seconds */
  struct link **out;         /* by port; 0 is the trunk */
  struct link **links;       /* the inputs, and NULL after the last */
  uint16_t *numbers;         /* of their ports */
  uint16_t *vlan;            /* of a port */
  uint8_t *learns;           /* of a port: may any address be behind it? */
  uint8_t used[4096];        /* by VLAN: has it ports? */
  uint8_t open[4096];        /* by VLAN: has it ports without an address? */
  uint32_t has_trunk;
  /* Of the last burst, what is left to the caller. */
  int32_t floods, drops;
  struct packet *flood[256], *drop[256];
  uint16_t flood_vlan[256];
  uint8_t flood_all[256];    /* to all ports, or to those without an address? */
  uint64_t dropped[8];       /* by reason, since the caller took them */
};

int pg_vswitch_add(struct vswitch *s, uint64_t mac, uint32_t vlan, uint32_t port);
int64_t pg_vswitch_port_of(const struct vswitch *s, uint64_t mac, uint32_t vlan);
int pg_vswitch(struct vswitch *s, struct freelist *account, uint32_t place);
bool pg_vswitch_tag(struct packet *p, uint32_t vlan);
