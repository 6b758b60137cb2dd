/* SPDX-License-Identifier: Apache-2.0
 *
 * AES-GCM (NIST SP 800-38D) with keys of 128 and 256 bits, by Intel's ipsec-mb, which
 * DPDK uses too. snabb/lib/ipsec/aes_gcm_avx.lua gives it Snabb's names. ipsec-mb is for
 * x86-64: on other CPUs no key can be expanded, which a sentence says.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../../src/native/api.h"
#include "../../src/native/host.h"
#include "snabb.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <intel-ipsec-mb.h>

enum { BLOCK = 16, ALIGNMENT = 64 };

static _Thread_local IMB_MGR *manager;

void pg_gcm_leave(void)
{
  if (manager)
    free_mb_mgr(manager);
  manager = NULL;
}

/* The functions for this CPU; NULL if there is no memory. */
static IMB_MGR *functions(void)
{
  if (!manager && (manager = alloc_mb_mgr(0)))
    init_mb_mgr_auto(manager, NULL);
  return manager;
}

/* The keys in `room`, which has pg_gcm_room() bytes at any address. */
static struct gcm_key_data *keys_in(const void *room)
{
  return (void *)(((uintptr_t)room + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
}

uint32_t pg_gcm_room(void)
{
  return sizeof(struct gcm_key_data) + ALIGNMENT;
}

/* Make all keys of the `bits` (128 or 256) at `key`. */
int pg_gcm_expand(void *room, const uint8_t *key, uint32_t bits)
{
  IMB_MGR *m = functions();
  if (!m)
    return pg_fail("there is no memory for AES-GCM");
  if (bits == 128)
    IMB_AES128_GCM_PRE(m, key, keys_in(room));
  else
    IMB_AES256_GCM_PRE(m, key, keys_in(room));
  return 0;
}

/* Encrypt the block with AES alone. */
__attribute__((target("aes")))
void pg_aes_block(const void *room, uint8_t *block, uint32_t bits)
{
  const uint8_t *key = keys_in(room)->expanded_keys;
  int rounds = bits == 128 ? 10 : 14;
  __m128i x = _mm_loadu_si128((const __m128i *)block);
  x = _mm_xor_si128(x, _mm_loadu_si128((const __m128i *)key));
  for (int i = 1; i < rounds; i++)
    x = _mm_aesenc_si128(x, _mm_loadu_si128((const __m128i *)(key + BLOCK * i)));
  x = _mm_aesenclast_si128(x, _mm_loadu_si128((const __m128i *)(key + BLOCK * rounds)));
  _mm_storeu_si128((__m128i *)block, x);
}

/* One block in the place of n bytes (more than 16) to be authenticated: their GHASH,
 * but for the multiplication that is left to do for each block. */
void pg_gcm_prehash(const void *room, uint8_t *block, const uint8_t *data, uint64_t n)
{
  uint8_t sum[BLOCK] = {0};
  uint64_t before = n ? (n - 1) / BLOCK * BLOCK : 0;
  if (before)
    IMB_GHASH(functions(), keys_in(room), data, before, sum, BLOCK);
  for (uint64_t i = before; i < n; i++)
    sum[i - before] ^= data[i];
  memcpy(block, sum, BLOCK);
}

/* Start with a block that stands for `n` bytes (pg_gcm_prehash), or has them. */
static void start(IMB_MGR *m, const struct gcm_call *c, struct gcm_key_data *keys,
                  struct gcm_context_data *context)
{
  if (c->bits == 128)
    IMB_AES128_GCM_INIT(m, keys, context, c->iv, c->aad, BLOCK);
  else
    IMB_AES256_GCM_INIT(m, keys, context, c->iv, c->aad, BLOCK);
  context->aad_length = c->aad_size;
}

static void in_steps(IMB_MGR *m, const struct gcm_call *c, struct gcm_key_data *keys,
                     struct gcm_context_data *x)
{
  start(m, c, keys, x);
  if (c->bits == 128 && c->encrypts) {
    IMB_AES128_GCM_ENC_UPDATE(m, keys, x, c->to, c->from, c->size);
    IMB_AES128_GCM_ENC_FINALIZE(m, keys, x, c->tag, c->tag_size);
  } else if (c->bits == 128) {
    IMB_AES128_GCM_DEC_UPDATE(m, keys, x, c->to, c->from, c->size);
    IMB_AES128_GCM_DEC_FINALIZE(m, keys, x, c->tag, c->tag_size);
  } else if (c->encrypts) {
    IMB_AES256_GCM_ENC_UPDATE(m, keys, x, c->to, c->from, c->size);
    IMB_AES256_GCM_ENC_FINALIZE(m, keys, x, c->tag, c->tag_size);
  } else {
    IMB_AES256_GCM_DEC_UPDATE(m, keys, x, c->to, c->from, c->size);
    IMB_AES256_GCM_DEC_FINALIZE(m, keys, x, c->tag, c->tag_size);
  }
}

#define AT_ONCE(function)                                                        \
  function(m, keys, &x, c->to, c->from, c->size, c->iv, c->aad, c->aad_size, c->tag, \
           c->tag_size)

/* Encrypt or decrypt, and write the tag; to compare it is the caller's to do. */
void pg_gcm_run(const void *room, const struct gcm_call *c)
{
  IMB_MGR *m = functions();
  struct gcm_key_data *keys = keys_in(room);
  struct gcm_context_data x;
  if (c->aad_size > BLOCK)
    in_steps(m, c, keys, &x);
  else if (c->bits == 128 && c->encrypts)
    AT_ONCE(IMB_AES128_GCM_ENC);
  else if (c->bits == 128)
    AT_ONCE(IMB_AES128_GCM_DEC);
  else if (c->encrypts)
    AT_ONCE(IMB_AES256_GCM_ENC);
  else
    AT_ONCE(IMB_AES256_GCM_DEC);
}

#else

void pg_gcm_leave(void) {}

uint32_t pg_gcm_room(void) { return 1; }

int pg_gcm_expand(void *room, const uint8_t *key, uint32_t bits)
{
  (void)room, (void)key, (void)bits;
  return pg_fail("AES-GCM is there on x86-64 alone, by Intel's ipsec-mb");
}

/* Nobody has a key to call these with. */
void pg_aes_block(const void *room, uint8_t *block, uint32_t bits)
{
  (void)room, (void)block, (void)bits;
}

void pg_gcm_prehash(const void *room, uint8_t *block, const uint8_t *data, uint64_t n)
{
  (void)room, (void)block, (void)data, (void)n;
}

void pg_gcm_run(const void *room, const struct gcm_call *c) { (void)room, (void)c; }

#endif
