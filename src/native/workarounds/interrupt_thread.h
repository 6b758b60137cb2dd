/* SPDX-License-Identifier: Apache-2.0
 *
 * Which thread calls: that in which DPDK's drivers handle interrupts and alarms?
 */
#pragma once

#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>

static inline bool pg_in_interrupt_thread(void)
{
  char name[16]; /* prctl(2), PR_GET_NAME */
  return prctl(PR_GET_NAME, name) == 0 &&
         (strncmp(name, "eal-intr", 8) == 0 || /* DPDK 22.11 */
          strncmp(name, "dpdk-intr", 9) == 0); /* since 23.11 */
}
