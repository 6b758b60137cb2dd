/* SPDX-License-Identifier: Apache-2.0
 *
 * The binding table's insides, for the kernels that look packets up.
 *
 * An address has its port sets in an array of records by PSID if at least half of them
 * are in use, else each in a hash. One thread changes a table, and any may look things
 * up meanwhile: `sequence` is odd during a change, and a lookup that saw one is done
 * again. Until then it may read nonsense, but nothing that isn't the table's.
 */
#pragma once

#include <stdatomic.h>
#include <string.h>

#include <rte_pause.h>
#include <rte_prefetch.h>

#include "lwaftr.h"

enum {
  CHUNK_RECORDS = 65536,     /* as many as an address may have */
  MAX_CHUNKS = 4096,
  ORDERS = 17                /* arrays have 2^0 to 2^16 records */
};

enum address_kind { ADDRESS_NONE, ADDRESS_SPARSE, ADDRESS_DENSE };

struct address {
  uint32_t ipv4;
  uint32_t first;            /* record of PSID 0, if it is dense */
  uint32_t count : 17;       /* softwires with PSIDs that can be */
  uint32_t beyond : 7;       /* are there any with PSIDs that can't be? */
  uint32_t kind : 8;
  uint8_t psid_length, shift;
  uint16_t least;            /* port that anybody has */
};

struct address_hash {
  struct address_hash *retired;
  uint32_t used;
  int shift;                 /* slot: hash >> shift */
  struct address slot[];
};

struct sparse {
  uint32_t ipv4;
  uint16_t psid, used;
  uint32_t record;
};

struct sparse_hash {
  struct sparse_hash *retired;
  uint32_t used;
  int shift;
  struct sparse slot[];
};

struct softwire_table {
  _Atomic(struct address_hash *) addresses;
  _Atomic(struct sparse_hash *) sparse;
  _Atomic uint32_t sequence;
  uint32_t count;            /* softwires */
  uint32_t lowest, highest;  /* no address that it ever had is beyond these */
  uint32_t chunks, next;     /* allocated; the next record never used */
  uint32_t free[ORDERS];     /* first free array, + 1; its first word is the next's */
  bool shared;               /* may others be looking things up? */
  struct softwire_ends *chunk[MAX_CHUNKS];
};

static inline uint64_t softwire_hash(uint64_t key)
{
  return key * 0x9e3779b97f4a7c15; /* 2^64 / the golden ratio (Knuth, volume 3, 6.4) */
}

static inline struct softwire_ends *softwire_record(const struct softwire_table *table,
                                                    uint32_t number)
{
  return &table->chunk[number / CHUNK_RECORDS % MAX_CHUNKS][number % CHUNK_RECORDS];
}

/* The slot of an address, or the free one where it would be. */
static inline struct address *address_slot(struct address_hash *hash, uint32_t ipv4)
{
  uint32_t mask = (uint32_t)((1ull << (64 - hash->shift)) - 1);
  uint32_t i = (uint32_t)(softwire_hash(ipv4) >> hash->shift);
  while (hash->slot[i].kind != ADDRESS_NONE && hash->slot[i].ipv4 != ipv4)
    i = (i + 1) & mask;
  return &hash->slot[i];
}

static inline uint64_t sparse_key(uint32_t ipv4, uint16_t psid)
{
  return (uint64_t)ipv4 << 16 | psid;
}

static inline struct sparse *sparse_slot(struct sparse_hash *hash, uint32_t ipv4,
                                         uint16_t psid)
{
  uint32_t mask = (uint32_t)((1ull << (64 - hash->shift)) - 1);
  uint32_t i = (uint32_t)(softwire_hash(sparse_key(ipv4, psid)) >> hash->shift);
  while (hash->slot[i].used &&
         (hash->slot[i].ipv4 != ipv4 || hash->slot[i].psid != psid))
    i = (i + 1) & mask;
  return &hash->slot[i];
}

/* Is it an address whose packets the table decides on? */
static inline bool address_is_managed(const struct address *address)
{
  return address->kind != ADDRESS_NONE && address->psid_length + address->shift > 0;
}

/* The record of a PSID of a dense address. */
static inline struct softwire_ends *
dense_record(const struct softwire_table *table, const struct address *address,
             uint32_t psid)
{
  return softwire_record(table, (address->first & ~(CHUNK_RECORDS - 1u)) |
                         ((address->first + psid) & (CHUNK_RECORDS - 1)));
}

/* The PSID of a port, if it belongs to a port set (RFC 7597, section 5.1). */
static inline uint32_t psid_of(const struct address *address, uint32_t port)
{
  return port >> address->shift & ((1u << address->psid_length) - 1);
}

/* The ports below 2^reserved belong to nobody. */
static inline int reserved_bits(const struct address *address)
{
  return 16 - address->psid_length - address->shift;
}

/* Does the port belong to a port set? Fills in which (RFC 7597, section 5.1). */
static inline bool address_psid(const struct address *address, uint32_t port,
                                uint32_t *psid)
{
  int reserved = reserved_bits(address);
  *psid = psid_of(address, port);
  return reserved <= 0 || port >= 1u << reserved;
}

static inline const struct softwire_ends *
address_record(struct softwire_table *table, const struct address *address,
               uint32_t psid)
{
  if (address->kind == ADDRESS_DENSE)
    return dense_record(table, address, psid);
  const struct sparse *slot = sparse_slot(
    atomic_load_explicit(&table->sparse, memory_order_acquire), address->ipv4,
    (uint16_t)psid);
  return slot->used ? softwire_record(table, slot->record) : NULL;
}

/* An empty record's B4 is ::. */
static inline bool softwire_is_there(const struct softwire_ends *ends)
{
  uint64_t half[2];
  memcpy(half, ends->b4, sizeof half);
  return (half[0] | half[1]) != 0;
}

static inline size_t softwire_slots(int shift)
{
  return (size_t)1 << (64 - shift);
}

static inline bool psid_can_be(const struct address *address, uint32_t psid)
{
  return psid < 1u << address->psid_length;
}

/* The record of a PSID, which needn't be one that can be; NULL if it isn't there. For
 * the thread that changes the table. */
static inline struct softwire_ends *
softwire_get(struct softwire_table *table, const struct address *address, uint16_t psid)
{
  if (address->kind == ADDRESS_DENSE && psid_can_be(address, psid)) {
    struct softwire_ends *ends = softwire_record(table, address->first + psid);
    return softwire_is_there(ends) ? ends : NULL;
  }
  struct sparse *slot = sparse_slot(atomic_load(&table->sparse), address->ipv4, psid);
  return slot->used ? softwire_record(table, slot->record) : NULL;
}

/* Can it have the address? Most packets from B4s go to ones that it can't. */
static inline bool softwires_may_have(const struct softwire_table *table, uint32_t ipv4)
{
  return (ipv4 >= table->lowest) & (ipv4 <= table->highest);
}

static inline uint32_t softwires_begin_read(const struct softwire_table *table)
{
  uint32_t sequence;
  while ((sequence = atomic_load_explicit(&table->sequence,
                                          memory_order_acquire)) & 1)
    rte_pause();
  return sequence;
}

static inline bool softwires_end_read(const struct softwire_table *table,
                                      uint32_t sequence)
{
  atomic_thread_fence(memory_order_acquire);
  return atomic_load_explicit(&table->sequence, memory_order_relaxed) == sequence;
}
