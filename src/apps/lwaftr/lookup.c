/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking up a burst in the binding table: what one step reads was asked of the memory a
 * step before, for all packets.
 */
#include "path.h"

static void find(struct softwire_table *table, struct lookup *lookups, int n,
                 struct softwire_ends *ends)
{
  const struct softwire_ends *records[PATH_BURST];
  struct address_hash *hash =
    atomic_load_explicit(&table->addresses, memory_order_acquire);
  for (int i = 0; i < n; i++)
    rte_prefetch0(&hash->slot[softwire_hash(lookups[i].ipv4) >> hash->shift]);
  for (int i = 0; i < n; i++) {
    const struct address *address = address_slot(hash, lookups[i].ipv4);
    uint32_t psid;
    records[i] = NULL;
    lookups[i].managed = address_is_managed(address);
    if (lookups[i].wanted && address->kind != ADDRESS_NONE &&
        address_psid(address, lookups[i].port, &psid) &&
        (records[i] = address_record(table, address, psid)))
      rte_prefetch0(records[i]);
  }
  for (int i = 0; i < n; i++) {
    lookups[i].found = records[i] && softwire_is_there(records[i]);
    if (lookups[i].found)
      ends[i] = *records[i];
  }
}

/* Look up those of `n` that are wanted. */
void softwires_find_burst(struct softwire_table *table, struct lookup *lookups, int n,
                          struct softwire_ends *ends)
{
  uint32_t sequence;
  do {
    sequence = softwires_begin_read(table);
    find(table, lookups, n, ends);
  } while (!softwires_end_read(table, sequence));
}

/* The source port of the packet that an ICMP error of `n` bytes is about (RFC 5508,
 * REQ-3), or -1. */
int32_t embedded_port(const uint8_t *icmp, uint32_t n)
{
  if (n < ICMP + IP4)
    return -1;
  uint32_t header = (icmp[ICMP] & 15u) * 4;
  if (n < ICMP + header + 2)
    return -1;
  return (int32_t)get16(icmp + ICMP + header);
}
