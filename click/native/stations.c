/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "../../src/net/keep/keep.h"
#include "stations.h"

_Static_assert(offsetof(struct click_station, age) == 8 &&
               sizeof(struct click_station) == 32, "as Lua lays it out");

/* A keep_restore (net/keep/former.h) of a struct click_stations. */
uint32_t pg_station_restore(void *context, const void *record, int64_t now)
{
  const struct click_stations *into = context;
  struct click_station station;
  uint32_t number;
  memcpy(&station, record, sizeof station);
  if (station.port == 0) /* the process was killed before it was noted */
    return STATION_PASSED;
  if (station.port > into->ports)
    return STATION_GONE;
  station.age.note[0] = 0; /* copies hear of it again */
  return pg_keep_restore(into->table, &station, now, &number);
}
