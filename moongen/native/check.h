/* SPDX-License-Identifier: Apache-2.0
 *
 * For --check: buffers of scripts' pools that are sent or freed, and what was in them
 * then (check.c).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

/* Does the process check? Known before the first pool is made. */
extern bool mg_checks;

enum { MG_NOTE_BYTES = sizeof(void *) }; /* of a buffer's private area, behind its notes */

bool mg_note_all(struct rte_mempool *pool, uint32_t n);
void mg_note_sent(struct rte_mbuf **packets, uint32_t n);
void mg_note_freed(struct rte_mbuf *m);
void mg_note_kept(struct rte_mbuf *m);
void mg_note_back(struct rte_mbuf **packets, uint32_t n);
