/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two files of workarounds for net_memif say to each other.
 */
#pragma once

/* The connection `fd` is over: the driver closes what it has received there, or forgets
 * it (memif_regions.c). */
void pg_memif_over(int fd);
