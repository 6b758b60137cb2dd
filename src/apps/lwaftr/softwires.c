/* SPDX-License-Identifier: Apache-2.0
 *
 * The binding table: adding, removing and listing softwires (softwires.h says how it is
 * made). Hashes grow while they are half full. One that others may be looking into isn't
 * freed but retired; each is half as large as the next.
 */
#include <stdlib.h>

#include "records.h"

enum { FIRST_BITS = 6 };

static void begin_change(struct softwire_table *table)
{
  uint32_t sequence = atomic_load_explicit(&table->sequence, memory_order_relaxed);
  atomic_store_explicit(&table->sequence, sequence + 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
}

static void end_change(struct softwire_table *table)
{
  uint32_t sequence = atomic_load_explicit(&table->sequence, memory_order_relaxed);
  atomic_store_explicit(&table->sequence, sequence + 1, memory_order_release);
}

static struct address_hash *new_address_hash(int bits)
{
  struct address_hash *hash =
    calloc(1, sizeof *hash + sizeof(struct address) * ((size_t)1 << bits));
  if (hash)
    hash->shift = 64 - bits;
  return hash;
}

static struct sparse_hash *new_sparse_hash(int bits)
{
  struct sparse_hash *hash =
    calloc(1, sizeof *hash + sizeof(struct sparse) * ((size_t)1 << bits));
  if (hash)
    hash->shift = 64 - bits;
  return hash;
}

/* An empty table, or NULL if there is no memory. */
struct softwire_table *pg_softwires_new(void)
{
  struct softwire_table *table = calloc(1, sizeof *table);
  if (!table)
    return NULL;
  table->lowest = UINT32_MAX;
  atomic_store(&table->addresses, new_address_hash(FIRST_BITS));
  atomic_store(&table->sparse, new_sparse_hash(FIRST_BITS));
  /* Record 0 is there from the first, so that any slot has one to read. */
  if (!atomic_load(&table->addresses) || !atomic_load(&table->sparse) ||
      softwire_records_new(table, 0) == NO_RECORDS) {
    pg_softwires_free(table);
    return NULL;
  }
  return table;
}

void pg_softwires_free(struct softwire_table *table)
{
  if (!table)
    return;
  for (struct address_hash *h = atomic_load(&table->addresses), *next; h; h = next) {
    next = h->retired;
    free(h);
  }
  for (struct sparse_hash *h = atomic_load(&table->sparse), *next; h; h = next) {
    next = h->retired;
    free(h);
  }
  softwire_chunks_free(table);
  free(table);
}

/* From now on other threads may look softwires up while one changes them. */
void pg_softwires_share(struct softwire_table *table)
{
  table->shared = true;
}

static bool grow_addresses(struct softwire_table *table)
{
  struct address_hash *old = atomic_load(&table->addresses);
  if (old->used < softwire_slots(old->shift) / 2)
    return true;
  struct address_hash *hash = new_address_hash(65 - old->shift);
  if (!hash)
    return false;
  hash->used = old->used;
  for (size_t i = 0; i < softwire_slots(old->shift); i++)
    if (old->slot[i].kind != ADDRESS_NONE)
      *address_slot(hash, old->slot[i].ipv4) = old->slot[i];
  atomic_store_explicit(&table->addresses, hash, memory_order_release);
  if (table->shared)
    hash->retired = old;
  else
    free(old);
  return true;
}

static bool grow_sparse(struct softwire_table *table)
{
  struct sparse_hash *old = atomic_load(&table->sparse);
  if (old->used < softwire_slots(old->shift) / 2)
    return true;
  struct sparse_hash *hash = new_sparse_hash(65 - old->shift);
  if (!hash)
    return false;
  hash->used = old->used;
  for (size_t i = 0; i < softwire_slots(old->shift); i++)
    if (old->slot[i].used)
      *sparse_slot(hash, old->slot[i].ipv4, old->slot[i].psid) = old->slot[i];
  atomic_store_explicit(&table->sparse, hash, memory_order_release);
  if (table->shared)
    hash->retired = old;
  else
    free(old);
  return true;
}

/* Take slot i out, and move those behind it up that would have lain further in front. */
static void delete_sparse(struct sparse_hash *hash, uint32_t i)
{
  uint32_t mask = (uint32_t)(softwire_slots(hash->shift) - 1);
  for (uint32_t k = (i + 1) & mask; hash->slot[k].used; k = (k + 1) & mask) {
    struct sparse *s = &hash->slot[k];
    uint32_t home =
      (uint32_t)(softwire_hash(sparse_key(s->ipv4, s->psid)) >> hash->shift);
    if (((k - home) & mask) >= ((k - i) & mask)) {
      hash->slot[i] = *s;
      i = k;
    }
  }
  hash->slot[i].used = 0;
  hash->used--;
}

static void delete_address(struct address_hash *hash, uint32_t i)
{
  uint32_t mask = (uint32_t)(softwire_slots(hash->shift) - 1);
  for (uint32_t k = (i + 1) & mask; hash->slot[k].kind; k = (k + 1) & mask) {
    uint32_t home = (uint32_t)(softwire_hash(hash->slot[k].ipv4) >> hash->shift);
    if (((k - home) & mask) >= ((k - i) & mask)) {
      hash->slot[i] = hash->slot[k];
      i = k;
    }
  }
  hash->slot[i].kind = ADDRESS_NONE;
  hash->used--;
}

/* From the hash to an array, where at least half of the port sets are in use. The array
 * is filled before it is the address's. */
static void make_dense(struct softwire_table *table, struct address *address)
{
  uint32_t n = 1u << address->psid_length;
  if (address->kind == ADDRESS_DENSE || address->count * 2 < n ||
      !address_is_managed(address)) /* nobody's: no port is looked up */
    return;
  uint32_t first = softwire_records_new(table, address->psid_length);
  if (first == NO_RECORDS)
    return; /* then it stays as it is */
  struct sparse_hash *hash = atomic_load(&table->sparse);
  for (uint32_t psid = 0; psid < n; psid++) {
    struct sparse *slot = sparse_slot(hash, address->ipv4, (uint16_t)psid);
    if (slot->used)
      *softwire_record(table, first + psid) = *softwire_record(table, slot->record);
  }
  begin_change(table);
  address->first = first;
  address->kind = ADDRESS_DENSE;
  end_change(table);
  for (uint32_t psid = 0; psid < n; psid++) {
    struct sparse *slot = sparse_slot(hash, address->ipv4, (uint16_t)psid);
    if (!slot->used)
      continue;
    begin_change(table);
    softwire_records_free(table, slot->record, 0);
    delete_sparse(hash, (uint32_t)(slot - hash->slot));
    end_change(table);
  }
}

static int add_sparse(struct softwire_table *table, const struct softwire *softwire)
{
  if (!grow_sparse(table))
    return SOFTWIRE_NO_MEMORY;
  uint32_t record = softwire_records_new(table, 0);
  if (record == NO_RECORDS)
    return SOFTWIRE_NO_MEMORY;
  struct sparse_hash *hash = atomic_load(&table->sparse);
  struct sparse *slot = sparse_slot(hash, softwire->ipv4, softwire->psid);
  begin_change(table);
  *softwire_record(table, record) = softwire->ends;
  *slot = (struct sparse){softwire->ipv4, softwire->psid, 1, record};
  hash->used++;
  end_change(table);
  return SOFTWIRE_OK;
}

static struct address *new_address(struct softwire_table *table,
                                   const struct softwire *softwire)
{
  if (!grow_addresses(table))
    return NULL;
  struct address_hash *hash = atomic_load(&table->addresses);
  struct address *address = address_slot(hash, softwire->ipv4);
  begin_change(table);
  table->lowest = RTE_MIN(table->lowest, softwire->ipv4);
  table->highest = RTE_MAX(table->highest, softwire->ipv4);
  *address = (struct address){
    .ipv4 = softwire->ipv4, .psid_length = softwire->psid_length,
    .shift = (uint8_t)(16 - softwire->psid_length - softwire->reserved),
    .least = softwire->reserved ? (uint16_t)(1u << softwire->reserved) : 0,
    .kind = ADDRESS_SPARSE};
  hash->used++;
  end_change(table);
  return address;
}

static void forget_address(struct softwire_table *table, struct address *address)
{
  struct address_hash *hash = atomic_load(&table->addresses);
  begin_change(table);
  if (address->kind == ADDRESS_DENSE)
    softwire_records_free(table, address->first, address->psid_length);
  delete_address(hash, (uint32_t)(address - hash->slot));
  end_change(table);
}

/* Add a softwire; one that is there is replaced, or left as it is (SOFTWIRE_EXISTS). All
 * of an address have the same port sets, those of the first. */
int pg_softwires_add(struct softwire_table *table, const struct softwire *softwire,
                     bool replace)
{
  if (softwire->psid_length + softwire->reserved > 16)
    return SOFTWIRE_BAD_PORT_SET;
  if (!softwire_is_there(&softwire->ends))
    return SOFTWIRE_NO_B4;
  struct address *address =
    address_slot(atomic_load(&table->addresses), softwire->ipv4);
  if (address->kind == ADDRESS_NONE) {
    address = new_address(table, softwire);
    if (!address)
      return SOFTWIRE_NO_MEMORY;
  } else if (address->psid_length != softwire->psid_length ||
             address->shift != 16 - softwire->psid_length - softwire->reserved)
    return SOFTWIRE_OTHER_PORT_SET;
  bool possible = psid_can_be(address, softwire->psid);
  struct softwire_ends *ends = softwire_get(table, address, softwire->psid);
  if (ends && !replace)
    return SOFTWIRE_EXISTS;
  if (ends || (possible && address->kind == ADDRESS_DENSE)) {
    bool is_new = !ends;
    if (is_new)
      ends = softwire_record(table, address->first + softwire->psid);
    begin_change(table);
    *ends = softwire->ends;
    end_change(table);
    table->count += is_new;
    address->count += is_new;
    return SOFTWIRE_OK;
  }
  int result = add_sparse(table, softwire);
  if (result != SOFTWIRE_OK) {
    if (address->count == 0 && !address->beyond)
      forget_address(table, address);
    return result;
  }
  table->count++;
  if (possible) {
    address->count++;
    make_dense(table, address);
  } else
    address->beyond = 1;
  return SOFTWIRE_OK;
}

static bool has_beyond(struct softwire_table *table, const struct address *address)
{
  struct sparse_hash *hash = atomic_load(&table->sparse);
  if (!address->beyond)
    return false;
  for (uint32_t psid = 1u << address->psid_length; psid < 65536; psid++)
    if (sparse_slot(hash, address->ipv4, (uint16_t)psid)->used)
      return true;
  return false;
}

/* Was it there? With its last softwire an address is forgotten. */
bool pg_softwires_remove(struct softwire_table *table, uint32_t ipv4, uint16_t psid)
{
  struct address *address = address_slot(atomic_load(&table->addresses), ipv4);
  if (address->kind == ADDRESS_NONE)
    return false;
  struct softwire_ends *ends = softwire_get(table, address, psid);
  if (!ends)
    return false;
  bool possible = psid_can_be(address, psid);
  begin_change(table);
  memset(ends, 0, sizeof *ends);
  if (!possible || address->kind == ADDRESS_SPARSE) {
    struct sparse_hash *hash = atomic_load(&table->sparse);
    struct sparse *slot = sparse_slot(hash, ipv4, psid);
    softwire_records_free(table, slot->record, 0);
    delete_sparse(hash, (uint32_t)(slot - hash->slot));
  }
  end_change(table);
  table->count--;
  address->count -= possible;
  if (address->count == 0 && !has_beyond(table, address))
    forget_address(table, address);
  return true;
}
