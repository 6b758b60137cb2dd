/* SPDX-License-Identifier: Apache-2.0
 *
 * What MoonSniff's scripts call: latencies of packets seen at two points, by numbers in
 * them; and a histogram. The names are MoonGen's. Times are nanoseconds.
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

/* Write number and time of all packets to a file, until the script ends: 12 bytes each,
 * the time before the number. */
void ms_log_pkts(uint8_t port_id, uint16_t queue_id, struct packet **rx_pkts,
                 uint16_t nb_pkts, uint32_t seqnum_offset, const char *filename);

void hs_initialize(uint32_t bucket_size);
void hs_destroy();
bool hs_update(int64_t new_val);
void hs_finalize();
void hs_write(const char *filename);
uint64_t hs_getCount();
double hs_getMean();
double hs_getVariance();
