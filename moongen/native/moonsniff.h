/* SPDX-License-Identifier: Apache-2.0
 *
 * What MoonSniff's scripts call: latencies of packets seen at two points, by numbers in
 * them. The names are MoonGen's. Times are nanoseconds. (measure/moonsniff.lua has the
 * others.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet;

struct ms_stats {
  int64_t average_latency;
  int64_t variance_latency;
  uint32_t hits, misses;     /* packets seen at both places, at the second alone */
  uint32_t inval_ts;         /* latencies below the threshold: not counted otherwise */
};

void ms_set_thresh(int64_t thresh);
void ms_add_entry(uint32_t identification, uint64_t timestamp);
void ms_test_for(uint32_t identification, uint64_t timestamp);
struct ms_stats ms_fetch_stats();
