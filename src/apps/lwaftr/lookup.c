/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking up a burst in the binding table: what one step reads was asked of the memory a
 * step before, for all packets.
 */
#include <rte_branch_prediction.h>

#include "path.h"

enum { NEAR_BITS = 12 };     /* of slots, 64 KB, that are in the second cache anyway */

static inline const struct address *first_slot(const struct address_hash *hash,
                                               uint32_t ipv4)
{
  return &hash->slot[softwire_hash(ipv4) >> hash->shift];
}

/* Look up one whose address isn't dense, or not in its first slot. */
static struct found look_further(struct softwire_table *table, struct address_hash *hash,
                                 struct lookup lookup)
{
  const struct address *address = address_slot(hash, lookup.ipv4);
  struct found found = {NULL, address_is_managed(address)};
  uint32_t psid;
  if (address->kind != ADDRESS_NONE && address_psid(address, lookup.port, &psid))
    found.record = address_record(table, address, psid);
  return found;
}

/* Look up `n`; between softwires_begin_read() and softwires_end_read(). The records are
 * on their way to the cache. */
void softwires_look(struct softwire_table *table, const struct lookup *lookups, int n,
                    struct found *found)
{
  struct address_hash *hash =
    atomic_load_explicit(&table->addresses, memory_order_acquire);
  if (64 - hash->shift > NEAR_BITS)
    for (int i = 0; i < n; i++)
      rte_prefetch0(first_slot(hash, lookups[i].ipv4));
  for (int i = 0; i < n; i++) {
    const struct address *address = first_slot(hash, lookups[i].ipv4);
    uint32_t port = lookups[i].port;
    found[i] = (struct found){NULL, false};
    if (address->kind == ADDRESS_NONE)
      continue;
    if (unlikely(address->kind != ADDRESS_DENSE || address->ipv4 != lookups[i].ipv4))
      found[i] = look_further(table, hash, lookups[i]);
    else if (unlikely(port < address->least))
      found[i].managed = true;
    else
      found[i] = (struct found){dense_record(table, address, psid_of(address, port)), true};
    rte_prefetch0(found[i].record);
  }
}

/* The source port of the packet that an ICMP error of `n` bytes is about (RFC 5508,
 * REQ-3), or -1. */
int32_t embedded_port(const uint8_t *icmp, uint32_t n)
{
  if (n < ICMP_HEADER + IP4_HEADER)
    return -1;
  uint32_t header = (icmp[ICMP_HEADER] & 15u) * 4;
  if (n < ICMP_HEADER + header + 2)
    return -1;
  return (int32_t)get16(icmp + ICMP_HEADER + header);
}
