/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of several workers a packet is for: by the hash that network cards make of
 * addresses and ports (Toeplitz; Microsoft, "RSS Hashing Types") with a key of which
 * every 16 bits are 0x6d5a, so that both directions of a flow have the same hash
 * (Woo and Park, "Scalable TCP Session Monitoring with Symmetric RSS", 2012).
 *
 * With such a key each 16-bit word adds the same to the hash wherever it stands, and
 * the hash is linear: the words are XORed, and the sum is hashed once, by tables.
 */
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf_core.h>

#include "../../net/icmp/types.h"
#include "../../net/wire/ports.h"
#include "../../net/wire/vlan_tags.h"
#include "../../net/wire/wire.h"
#include "../api.h"
#include "../link_cursors.h"

enum {
  KEY = 0x6d5a6d5a,
  MOST_TAGS = 2,
  ECHO_REQUEST = 8, ECHO_REPLY = 0
};

static uint32_t high[256], low[256]; /* hashes of each byte of a word */

/* For each bit that is set, the 32 bits of the key from that place on. */
static uint32_t hash_of_word(uint32_t word)
{
  uint32_t hash = 0, key = KEY;
  for (int bit = 15; bit >= 0; bit--, key = key << 1 | key >> 31)
    if (word >> bit & 1)
      hash ^= key;
  return hash;
}

__attribute__((constructor)) static void fill_tables(void)
{
  for (uint32_t byte = 0; byte < 256; byte++) {
    high[byte] = hash_of_word(byte << 8);
    low[byte] = hash_of_word(byte);
  }
}

/* The XOR of the 16-bit words, in network order and not folded. */
static inline uint64_t fold(const uint8_t *p, int bytes)
{
  uint64_t sum = 0;
  for (; bytes > 0; bytes -= 4, p += 4)
    sum ^= load32(p);
  return sum;
}

static uint32_t hash_of(uint64_t sum)
{
  uint16_t word = rte_be_to_cpu_16((uint16_t)(sum ^ sum >> 16));
  return high[word >> 8] ^ low[word & 255];
}

/* The hash of a packet between these addresses and with these ports, or with the
 * identifier of a ping as one of them, all as in packets. */
uint32_t pg_tuple_hash(uint32_t source, uint32_t destination, uint32_t ports)
{
  return hash_of((uint64_t)source ^ destination ^ ports);
}

/* Its place in a card's redirection table, which is filled with the queues in turn. */
uint32_t pg_bucket_of(uint32_t hash) { return hash % FLOW_BUCKETS; }

/* Which of `n` copies the packets with the hash are for. */
uint32_t pg_copy_of(uint32_t hash, uint32_t n) { return pg_bucket_of(hash) % n; }

/* What cards don't do: pings count by their identifier, errors as the packet that they
 * quote, DCCP by its ports. `sum` is that of the packet's addresses. */
static uint64_t sum_within(const uint8_t *ip, const uint8_t *l4, const uint8_t *end,
                           uint64_t sum)
{
  if (ip[9] == IPPROTO_DCCP && end - l4 >= 4)
    return sum ^ fold(l4, 4);
  if (ip[9] != IPPROTO_ICMP || end - l4 < ICMP_HEADER)
    return sum;
  if (l4[0] == ECHO_REQUEST || l4[0] == ECHO_REPLY)
    return sum ^ load16(l4 + 4);
  if (!icmp4_is_error(l4[0]) || end - l4 < ICMP_HEADER + IP4_HEADER)
    return sum;
  const uint8_t *quoted = l4 + ICMP_HEADER, *ports = quoted + (quoted[0] & 15) * 4;
  sum = fold(quoted + 12, 8);
  if (get16(quoted + IP4_FRAGMENT) & IP4_OFFSET)
    return sum;
  if ((has_hashed_ports(quoted[9]) || quoted[9] == IPPROTO_DCCP) && end - ports >= 4)
    return sum ^ fold(ports, 4);
  if (quoted[9] == IPPROTO_ICMP && end - ports >= 6 &&
      (ports[0] == ECHO_REQUEST || ports[0] == ECHO_REPLY))
    return sum ^ load16(ports + 4);
  return sum;
}

static inline uint32_t frame_hash(const uint8_t *data, uint32_t length, int32_t by)
{
  uint32_t at = 0, type = ethernet_type(data, length, MOST_TAGS, &at), room = length - at;
  const uint8_t *ip = data + at;
  if (type == TYPE_IP4 && room >= IP4_HEADER) {
    uint64_t sum = fold(ip + 12, 8);
    const uint8_t *l4 = ip + (ip[0] & 15) * 4, *end = ip + room;
    bool fragment = get16(ip + IP4_FRAGMENT) & IP4_PART;
    if (fragment || by == FLOWS_BY_ADDRESSES)
      return hash_of(sum);
    if (has_hashed_ports(ip[9]) && end - l4 >= 4)
      sum ^= fold(l4, 4);
    else if (by == FLOWS_WITHIN)
      sum = sum_within(ip, l4, end, sum);
    return hash_of(sum);
  }
  if (type == TYPE_IP6 && room >= IP6_HEADER) {
    uint64_t sum = fold(ip + 8, 32);
    if (by != FLOWS_BY_ADDRESSES && has_hashed_ports(ip[6]) && room >= 44)
      sum ^= fold(ip + 40, 4);
    return hash_of(sum);
  }
  return 0;
}

static inline uint32_t flow_hash(const struct packet *p, int32_t by)
{
  return frame_hash(p->buf_addr + p->data_off, p->length, by);
}

/* Which of `n` copies the frame of so many bytes is for. */
uint32_t pg_copy_for_frame(const uint8_t *frame, uint32_t length, uint32_t n, int32_t by)
{
  return pg_copy_of(frame_hash(frame, length, by), n);
}

/* The hash of the packet's flow; 0 if it is neither IPv4 nor IPv6. Of fragments the
 * ports don't count, since the later ones haven't any. */
uint32_t pg_flow_hash(const struct packet *p) { return flow_hash(p, FLOWS_BY_PORTS); }

/* The hash that the device has put into a packet just received; of one whose device has
 * none, the hash above, which is what cards compute that Perigee spreads flows by. */
uint32_t pg_rss_hash(const struct packet *p)
{
  return p->ol_flags & RTE_MBUF_F_RX_RSS_HASH ? p->hash[0] : pg_flow_hash(p);
}

static inline int hand_out(struct link *link, struct link **outputs, uint32_t n,
                           int32_t by, struct steering *s)
{
  enum { MASK = LINK_RING_SIZE - 1 };
  uint32_t count = waiting(link), i = 0;
  for (; i < count; i++) {
    struct packet *p = link->packets[((uint32_t)link->read + i) & MASK];
    uint32_t bucket = pg_bucket_of(flow_hash(p, by));
    struct link *to = outputs[s ? s->owner[bucket] : bucket % n];
    if (waiting(to) >= LINK_MAX_PACKETS)
      break;
    to->packets[(uint32_t)to->write & MASK] = p;
    to->write = (int32_t)((uint32_t)to->write + 1);
    link->rxbytes += p->length;
    if (s)
      s->packets[bucket]++;
  }
  taken(link, i);
  return i;
}

/* Hand the packets in the link out to `n` others by their flows, until one that is to
 * take the next packet is full; how many. `by`: see enum flows_by. */
int pg_distribute(struct link *link, struct link **outputs, uint32_t n, int32_t by)
{
  return hand_out(link, outputs, n, by, NULL);
}

/* The same by a table of the buckets' owners (each below the number of outputs), where
 * packets are counted. */
int pg_distribute_by(struct link *link, struct link **outputs, struct steering *s,
                     int32_t by)
{
  return hand_out(link, outputs, 0, by, s);
}

/* Move packets out of one link into another, as many as have room. */
int pg_link_move(struct link *from, struct link *to)
{
  enum { MASK = LINK_RING_SIZE - 1 };
  uint32_t n = waiting(from), room = LINK_MAX_PACKETS - waiting(to);
  if (n > room)
    n = room;
  for (uint32_t i = 0; i < n; i++) {
    struct packet *p = from->packets[((uint32_t)from->read + i) & MASK];
    to->packets[((uint32_t)to->write + i) & MASK] = p;
    from->rxbytes += p->length;
  }
  taken(from, n);
  to->write = (int32_t)((uint32_t)to->write + n);
  return n;
}
