/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking up a burst in the binding table: what one step reads was asked of the memory a
 * step before, for all packets.
 */
#include "path.h"

/* Look up `n`, at most PATH_BURST; between softwires_begin_read() and
 * softwires_end_read(). The records are on their way to the cache. */
void softwires_look(struct softwire_table *table, const struct lookup *lookups, int n,
                    struct found *found)
{
  const struct address *slots[PATH_BURST];
  struct address_hash *hash =
    atomic_load_explicit(&table->addresses, memory_order_acquire);
  for (int i = 0; i < n; i++) {
    slots[i] = &hash->slot[softwire_hash(lookups[i].ipv4) >> hash->shift];
    rte_prefetch0(slots[i]);
  }
  for (int i = 0; i < n; i++) {
    const struct address *address = slots[i];
    uint32_t psid;
    if (address->kind != ADDRESS_NONE && address->ipv4 != lookups[i].ipv4)
      address = address_slot(hash, lookups[i].ipv4);
    found[i] = (struct found){NULL, address_is_managed(address)};
    if (address->kind != ADDRESS_NONE &&
        address_psid(address, lookups[i].port, &psid) &&
        (found[i].record = address_record(table, address, psid)))
      rte_prefetch0(found[i].record);
  }
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
