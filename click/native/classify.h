/* SPDX-License-Identifier: Apache-2.0
 *
 * What click.classification shares with its kernels; plain declarations, as in api.h.
 */
#pragma once

#include <stdint.h>

struct packet;

/* One question of a decision program: are the bits `mask` of the word at byte `offset`
 * of a header one of `count` values? If it is number i, the program goes on at the
 * target of the same number, else at `no`. If the header has fewer than `offset` +
 * `need` bytes, it goes on at `too_short`. A jump of 0 or more is a question's number;
 * the outputs 1, 2... are -2, -3..., and -1 drops the packet. Masks and values are as
 * in memory; values ascend. */
struct click_question {
  uint32_t mask;
  int32_t no, too_short;
  uint32_t first, count;     /* of values and targets */
  uint16_t offset;
  uint8_t header;            /* 0: Ethernet, or the whole packet; 1: IP; 2: transport */
  uint8_t need;
};

struct click_program {
  const struct click_question *questions;
  const uint32_t *values;
  const int32_t *targets;
};

/* The output of the packet, from 1 on, or 0: it is dropped. The first asks for bytes of
 * the packet, the second for those of its headers. */
int32_t pg_classify(const struct click_program *program, const struct packet *p);
int32_t pg_classify_ip(const struct click_program *program, const struct packet *p);
