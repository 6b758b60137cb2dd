/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs decision programs: those that are too long for a Lua function, and all of them
 * on packets that are shorter than the program asks for.
 */
#include <string.h>

#include "../../src/native/api.h"
#include "classify.h"

enum {
  HEADERS = 3,
  BEFORE_ETHERNET = 2, /* bytes by which offsets are moved (ip/meaning.lua) */
  FEW = 8              /* values that are compared one by one */
};

/* Where each header is, and how many bytes from there on. */
struct view {
  const uint8_t *start[HEADERS];
  int32_t length[HEADERS];
};

static int32_t find(const uint32_t *value, uint32_t count, uint32_t word)
{
  if (count <= FEW) {
    for (uint32_t i = 0; i < count; i++)
      if (value[i] == word)
        return (int32_t)i;
    return -1;
  }
  uint32_t low = 0;
  while (count > 1) {
    uint32_t half = count / 2;
    if (value[low + half] <= word)
      low += half;
    count -= half;
  }
  return value[low] == word ? (int32_t)low : -1;
}

static inline int32_t answer(const struct click_program *program,
                             const struct click_question *q, const struct view *view)
{
  int32_t there = view->length[q->header] - q->offset;
  uint32_t word = 0;
  if (there < q->need)
    return q->too_short;
  if (there >= (int32_t)sizeof word)
    memcpy(&word, view->start[q->header] + q->offset, sizeof word);
  else if (there > 0)
    memcpy(&word, view->start[q->header] + q->offset, (size_t)there);
  int32_t i = find(program->values + q->first, q->count, word & q->mask);
  return i < 0 ? q->no : program->targets[q->first + (uint32_t)i];
}

static int32_t run(const struct click_program *program, const struct view *view)
{
  int32_t at = 0;
  while (at >= 0)
    at = answer(program, &program->questions[at], view);
  return -at - 1;
}

int32_t pg_classify(const struct click_program *program, const struct packet *p)
{
  struct view view = {{p->buf_addr + p->data_off}, {p->length}};
  return run(program, &view);
}

/* A header that isn't noted has no bytes. */
int32_t pg_classify_ip(const struct click_program *program, const struct packet *p)
{
  int32_t end = p->data_off + p->length;
  int32_t ethernet = p->note16[0], ip = p->note16[1], transport = p->note16[2];
  struct view view = {{0}, {0}};
  if (ethernet >= BEFORE_ETHERNET) {
    view.start[0] = p->buf_addr + ethernet - BEFORE_ETHERNET;
    view.length[0] = end - ethernet + BEFORE_ETHERNET;
  }
  if (ip) {
    view.start[1] = p->buf_addr + ip;
    view.length[1] = end - ip;
  }
  if (ip && transport) {
    view.start[2] = p->buf_addr + transport;
    view.length[2] = end - transport;
  }
  return run(program, &view);
}
