/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting in a histogram (core/histogram.lua). It is here since the engine counts each
 * breath: LuaJIT's code for a branch that goes the other way than when it was recorded
 * costs as much as all the rest of an idle breath.
 */
#include <math.h>

#include "../kernels.h"

/* Count `value`. What isn't a number goes into the first bucket, as what is below the
 * minimum does. */
void pg_histogram_add(struct histogram *h, double value)
{
  const int last = HISTOGRAM_BUCKETS - 1;
  double bucket = 0;
  if (value >= h->minimum)
    bucket = floor(log(value / h->minimum) / h->growth_factor_log) + 1;
  h->total++;
  h->buckets[bucket >= 0 && bucket < last ? (int)bucket : last]++;
}
