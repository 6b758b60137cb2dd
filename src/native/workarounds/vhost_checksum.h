/* SPDX-License-Identifier: Apache-2.0
 *
 * Around a burst from a virtual machine (net_vhost), by the thread that asks for it.
 */
#pragma once

void pg_vhost_checksums_begin(void);
void pg_vhost_checksums_end(void);
