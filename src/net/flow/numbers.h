/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of the numbers from 0 to n - 1 are marked: a bit for each, and above each 64 words
 * a word that says which of them are full. The next one that isn't marked is found in a
 * few steps, however many are.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { FLOW_NUMBERS_MOST = 1 << 24, FLOW_NUMBERS_LEVELS = 4 };

struct flow_numbers {
  uint32_t words[FLOW_NUMBERS_LEVELS]; /* of each level; 0: there is none */
  uint64_t *bits[FLOW_NUMBERS_LEVELS];
  uint64_t memory[];
};

struct flow_numbers *pg_flow_numbers_new(uint32_t n);
void pg_flow_numbers_free(struct flow_numbers *s);
bool pg_flow_numbers_has(const struct flow_numbers *s, uint32_t number);
bool pg_flow_numbers_mark(struct flow_numbers *s, uint32_t number);
bool pg_flow_numbers_unmark(struct flow_numbers *s, uint32_t number);
int64_t pg_flow_numbers_next(const struct flow_numbers *s, uint32_t from);
