/* SPDX-License-Identifier: Apache-2.0
 *
 * The binding table: looking softwires up one by one, counting and listing them.
 */
#include <stdlib.h>

#include "records.h"

static void fill_in(const struct address *address, uint16_t psid,
                    const struct softwire_ends *ends, struct softwire *result)
{
  *result = (struct softwire){
    .ipv4 = address->ipv4, .psid = psid, .psid_length = address->psid_length,
    .reserved = (uint8_t)(16 - address->psid_length - address->shift), .ends = *ends};
}

/* The softwire of an address and a PSID; for the thread that changes the table. */
bool pg_softwires_get(struct softwire_table *table, uint32_t ipv4, uint16_t psid,
                      struct softwire *result)
{
  struct address *address = address_slot(atomic_load(&table->addresses), ipv4);
  if (address->kind == ADDRESS_NONE)
    return false;
  const struct softwire_ends *ends = softwire_get(table, address, psid);
  if (ends)
    fill_in(address, psid, ends, result);
  return ends;
}

/* The softwire of an address and a port; for any thread. */
bool pg_softwires_find(struct softwire_table *table, uint32_t ipv4, uint16_t port,
                       struct softwire_ends *result)
{
  uint32_t sequence;
  bool found;
  do {
    sequence = softwires_begin_read(table);
    const struct address *address = address_slot(
      atomic_load_explicit(&table->addresses, memory_order_acquire), ipv4);
    uint32_t psid;
    const struct softwire_ends *ends = NULL;
    if (address->kind != ADDRESS_NONE && address_psid(address, port, &psid))
      ends = address_record(table, address, psid);
    found = ends && softwire_is_there(ends);
    if (found)
      *result = *ends;
  } while (!softwires_end_read(table, sequence));
  return found;
}

/* PSID length + 256 * reserved bits of an address that has softwires, or -1. */
int pg_softwires_port_set(struct softwire_table *table, uint32_t ipv4)
{
  const struct address *address = address_slot(atomic_load(&table->addresses), ipv4);
  if (address->kind == ADDRESS_NONE)
    return -1;
  return address->psid_length + 256 * (16 - address->psid_length - address->shift);
}

/* Are packets to this address for softwires? For any thread. */
bool pg_softwires_is_managed(struct softwire_table *table, uint32_t ipv4)
{
  uint32_t sequence;
  bool managed;
  do {
    sequence = softwires_begin_read(table);
    managed = address_is_managed(address_slot(
      atomic_load_explicit(&table->addresses, memory_order_acquire), ipv4));
  } while (!softwires_end_read(table, sequence));
  return managed;
}

uint32_t pg_softwires_count(const struct softwire_table *table)
{
  return table->count;
}

/* Bytes of memory that the table has taken. */
double pg_softwires_bytes(const struct softwire_table *table)
{
  double bytes = sizeof *table + softwire_chunks_bytes(table);
  for (struct address_hash *h = atomic_load(&table->addresses); h; h = h->retired)
    bytes += (double)softwire_slots(h->shift) * sizeof(struct address);
  for (struct sparse_hash *h = atomic_load(&table->sparse); h; h = h->retired)
    bytes += (double)softwire_slots(h->shift) * sizeof(struct sparse);
  return bytes;
}

static int by_address(const void *a, const void *b)
{
  const struct softwire *x = a, *y = b;
  if (x->ipv4 != y->ipv4)
    return x->ipv4 < y->ipv4 ? -1 : 1;
  return (int)x->psid - (int)y->psid;
}

/* Write up to `room` softwires to `list`, by address and PSID, and return how many. */
uint32_t pg_softwires_list(struct softwire_table *table, struct softwire *list,
                           uint32_t room)
{
  uint32_t n = 0;
  struct address_hash *addresses = atomic_load(&table->addresses);
  for (size_t i = 0; i < softwire_slots(addresses->shift); i++) {
    const struct address *address = &addresses->slot[i];
    for (uint32_t psid = 0;
         address->kind == ADDRESS_DENSE && psid < 1u << address->psid_length; psid++) {
      const struct softwire_ends *ends = softwire_record(table, address->first + psid);
      if (softwire_is_there(ends) && n < room)
        fill_in(address, (uint16_t)psid, ends, &list[n++]);
    }
  }
  struct sparse_hash *sparse = atomic_load(&table->sparse);
  for (size_t i = 0; i < softwire_slots(sparse->shift); i++) {
    const struct sparse *s = &sparse->slot[i];
    if (s->used && n < room)
      fill_in(address_slot(addresses, s->ipv4), s->psid,
              softwire_record(table, s->record), &list[n++]);
  }
  qsort(list, n, sizeof *list, by_address);
  return n;
}
