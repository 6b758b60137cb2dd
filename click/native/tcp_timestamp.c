/* SPDX-License-Identifier: Apache-2.0
 *
 * TCP's timestamps option (RFC 7323, section 3), read and rewritten.
 */
#include "../../src/net/checksum/sum.h"
#include "../../src/net/wire/tcp_options.h"
#include "rewrite_key.h"
#include "tcp_timestamp.h"

enum { VALUE = 2 }; /* where an option's is */

/* Where the option's TSval is; 0: nowhere. */
static uint32_t find(const uint8_t *tcp, int32_t length)
{
  int32_t header = (tcp[TCP_OFFSET] >> 4) * 4;
  const uint8_t *o = tcp + TCP_HEADER, *end = tcp + (header < length ? header : length);
  for (uint32_t n = 0; (o = option_from(o, end, &n)); o += n)
    if (*o == TCP_TIMESTAMPS && n == TCP_TIMESTAMPS_BYTES)
      return (uint32_t)(o - tcp) + VALUE;
  return 0;
}

bool pg_tcp_timestamp(const struct packet *p, struct click_tcp_timestamp *t)
{
  struct view v;
  if (!look(p, &v) || v.ip->version_ihl >> 4 != 4 || v.ip->next_proto_id != IPPROTO_TCP ||
      !v.first || v.length < TCP_HEADER)
    return false;
  t->at = find(v.l4, v.length);
  if (!t->at)
    return false;
  t->value = get32(v.l4 + t->at);
  t->echo = get32(v.l4 + t->at + sizeof t->value);
  return true;
}

/* Put a number where it belongs; `change`, and what that adds to the sum. The option may
 * begin at any byte: then its bytes are in the sum's words the other way round. */
static uint16_t put(uint8_t *at, uint32_t number, bool odd, uint16_t change)
{
  uint16_t before = 0, former[2], words[2];
  memcpy(former, at, sizeof former);
  put32(at, number);
  memcpy(words, at, sizeof words);
  for (int i = 0; i < 2; i++)
    before = pg_add_change(before, former[i], words[i]);
  if (odd)
    before = rte_bswap16(before);
  return pg_add_change(change, 0, before);
}

void pg_tcp_set_timestamp(struct packet *p, const struct click_tcp_timestamp *t)
{
  struct view v;
  if (!look(p, &v))
    return;
  uint8_t *at = v.l4 + t->at, *sum = v.l4 + pg_checksum_at(IPPROTO_TCP);
  bool odd = t->at & 1;
  uint16_t change = put(at, t->value, odd, 0);
  change = put(at + sizeof t->value, t->echo, odd, change);
  store16(sum, pg_changed_sum(load16(sum), change));
}
