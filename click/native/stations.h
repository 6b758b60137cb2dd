/* SPDX-License-Identifier: Apache-2.0
 *
 * Stations that an EtherSwitch has learned, and a process that has ended had (net/keep).
 * Plain declarations, as in native/api.h.
 */
#pragma once

#include <stdint.h>

#include "../../src/net/flow/flow.h"

/* As the element's records are. The port counts from 1; 0: it wasn't noted yet. */
struct click_station {
  uint8_t address[6];
  uint16_t port;
  struct flow_age age;       /* note[0]: have other copies heard of it? */
};

/* Outcomes, behind those of pg_keep_restore(). */
enum { STATION_PASSED = 5, STATION_GONE = 6 };
struct click_stations { struct flow_table *table; uint32_t ports; };
uint32_t pg_station_restore(void *context, const void *record, int64_t now);
