/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of the binding table (records.c).
 */
#pragma once

#include "softwires.h"

#define NO_RECORDS UINT32_MAX

/* The number of the first of 2^order empty records, or NO_RECORDS. */
uint32_t softwire_records_new(struct softwire_table *table, int order);
void softwire_records_free(struct softwire_table *table, uint32_t number, int order);
void softwire_chunks_free(struct softwire_table *table);
double softwire_chunks_bytes(const struct softwire_table *table);
