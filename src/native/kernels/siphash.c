/* SPDX-License-Identifier: Apache-2.0
 *
 * SipHash (Aumasson and Bernstein, 2012) of inputs of one known size, one at a
 * time or four side by side in vector registers. snabb/lib/hash/siphash.lua explains
 * the variants.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../../net/wire/wire.h"
#include "../api.h"

typedef uint64_t v4 __attribute__((vector_size(32)));

#define ROTATE(x, n) ((x) << (n) | (x) >> (64 - (n)))

/* One round over the state v[4], of scalars or of vectors. */
#define ROUND(v)                                                        \
  do {                                                                  \
    v[0] += v[1]; v[1] = ROTATE(v[1], 13); v[1] ^= v[0];                \
    v[0] = ROTATE(v[0], 32);                                            \
    v[2] += v[3]; v[3] = ROTATE(v[3], 16); v[3] ^= v[2];                \
    v[0] += v[3]; v[3] = ROTATE(v[3], 21); v[3] ^= v[0];                \
    v[2] += v[1]; v[1] = ROTATE(v[1], 17); v[1] ^= v[2];                \
    v[2] = ROTATE(v[2], 32);                                            \
  } while (0)

#define ABSORB(v, word, c)                                              \
  do {                                                                  \
    v[3] ^= (word);                                                     \
    for (int r = 0; r < (c); r++) ROUND(v);                             \
    v[0] ^= (word);                                                     \
  } while (0)

#define FINISH(v, d)                                                    \
  do {                                                                  \
    v[2] ^= 0xff;                                                       \
    for (int r = 0; r < (d); r++) ROUND(v);                             \
    v[0] ^= v[1] ^ v[2] ^ v[3];                                         \
  } while (0)

/* The last, incomplete word as the paper has it: with the size in its top byte. */
static inline uint64_t last_word(const uint8_t *p, uint32_t size)
{
  uint64_t word = (uint64_t)(size & 0xff) << 56;
  for (uint32_t i = 0; i < size % 8; i++)
    word |= (uint64_t)p[i] << 8 * i;
  return word;
}

/* The last 1 to 7 bytes as Snabb packs them: a number of 4 of them, then of 2,
 * then of 1, each below what came before. */
static inline uint64_t short_word(const uint8_t *p, uint32_t size)
{
  uint64_t word = 0;
  if (size & 4) {
    uint32_t part;
    memcpy(&part, p, sizeof part);
    word = part;
    p += 4;
  }
  if (size & 2) {
    uint16_t part;
    memcpy(&part, p, sizeof part);
    word = word << 16 | part;
    p += 2;
  }
  if (size & 1)
    word = word << 8 | *p;
  return word;
}

/* What Snabb's tables take: 31 bits, shifted so that it is never 0xffffffff. */
static inline uint32_t table_hash(uint64_t hash)
{
  return (uint32_t)(hash >> 32) << 1;
}

static inline uint64_t tail_of(const struct siphash *s, const uint8_t *p)
{
  return s->as_specified ? last_word(p, s->size) : short_word(p, s->size);
}

static inline uint64_t hash1(const struct siphash *s, const uint8_t *p, int c,
                             int d)
{
  uint64_t v[4];
  memcpy(v, s->state, sizeof v);
  for (uint32_t i = 0; i < s->size / 8; i++, p += 8) {
    uint64_t word = load64(p);
    ABSORB(v, word, c);
  }
  if (s->as_specified || s->size % 8) {
    uint64_t word = tail_of(s, p);
    ABSORB(v, word, c);
  }
  FINISH(v, d);
  return v[0];
}

static inline v4 hash4(const struct siphash *s, const uint8_t *p, int c, int d)
{
  v4 v[4];
  uint32_t stride = s->stride;
  for (int i = 0; i < 4; i++)
    v[i] = s->state[i] - (v4){0, 0, 0, 0};
  for (uint32_t i = 0; i < s->size / 8; i++, p += 8) {
    v4 word = {load64(p), load64(p + stride), load64(p + 2 * stride),
               load64(p + 3 * stride)};
    ABSORB(v, word, c);
  }
  if (s->as_specified || s->size % 8) {
    v4 word = {tail_of(s, p), tail_of(s, p + stride),
               tail_of(s, p + 2 * stride), tail_of(s, p + 3 * stride)};
    ABSORB(v, word, c);
  }
  FINISH(v, d);
  return v[0];
}

/* The compiler unrolls the rounds of the usual variants. */
#define WITH_ROUNDS(s, f, ...)                                          \
  (s->c == 1 && s->d == 2 ? f(__VA_ARGS__, 1, 2)                        \
   : s->c == 2 && s->d == 4 ? f(__VA_ARGS__, 2, 4)                      \
                            : f(__VA_ARGS__, s->c, s->d))

uint32_t pg_siphash(const struct siphash *s, const void *input)
{
  uint64_t hash = WITH_ROUNDS(s, hash1, s, input);
  return s->standard ? (uint32_t)hash : table_hash(hash);
}

uint32_t pg_siphash_u64(const struct siphash *s, uint64_t input)
{
  return pg_siphash(s, &input);
}

/* Hashes of `n` inputs, each `stride` bytes after the one before. */
void pg_siphash_many(const struct siphash *s, const void *inputs,
                     uint32_t *hashes, uint32_t n)
{
  const uint8_t *p = inputs;
  uint32_t i = 0;
  for (; i + 4 <= n; i += 4, p += 4 * s->stride) {
    v4 hash = WITH_ROUNDS(s, hash4, s, p);
    for (int lane = 0; lane < 4; lane++)
      hashes[i + lane] = table_hash(hash[lane]);
  }
  for (; i < n; i++, p += s->stride)
    hashes[i] = pg_siphash(s, p);
}
