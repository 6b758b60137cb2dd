/* SPDX-License-Identifier: Apache-2.0
 *
 * What apps.vlan_switch shares with its kernel (vlan_switch.c); plain declarations, as
 * in src/native/api.h.
 */
#pragma once

#include <stdint.h>

#include "../../net/fdb/fdb.h"

struct freelist;
struct link;
struct packet;

/* Why packets are dropped, from 1; vlan_switch.lua has the names. */
enum vswitch_drop {
  VSWITCH_SHORT = 1, VSWITCH_OVERSIZE, VSWITCH_UNKNOWN_VLAN, VSWITCH_UNKNOWN_MAC,
  VSWITCH_OWN_PORT, VSWITCH_TAGGED, VSWITCH_DROPS
};

struct vswitch {
  struct fdb fdb;            /* by VLAN, in seconds */
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

int pg_vswitch(struct vswitch *s, struct freelist *account, uint32_t place);
bool pg_vswitch_tag(struct packet *p, uint32_t vlan);
