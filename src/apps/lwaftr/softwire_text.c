/* SPDX-License-Identifier: Apache-2.0
 *
 * Softwires as text. Lua makes a template of one by the format that is wanted; here its
 * marks are replaced by what is in each softwire, as there may be a million.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "../../net/address/text.h"
#include "lwaftr.h"

#define MARKS 7 /* and one that isn't used: 0 ends a template */

struct texts {
  char text[MARKS][IP_TEXT];
  size_t length[MARKS];
};

static void put_number(struct texts *texts, unsigned mark, unsigned value)
{
  char digits[12], *at = digits + sizeof digits;
  do
    *--at = (char)('0' + value % 10);
  while (value /= 10);
  texts->length[mark] = (size_t)(digits + sizeof digits - at);
  memcpy(texts->text[mark], at, texts->length[mark]);
}

static void put_all(struct texts *texts, const struct softwire *softwire)
{
  uint32_t ipv4 = htonl(softwire->ipv4);
  texts->length[1] = pg_ip4_text((const uint8_t *)&ipv4, texts->text[1]);
  put_number(texts, 2, softwire->psid);
  texts->length[3] = pg_ip6_text(softwire->ends.b4, texts->text[3]);
  texts->length[4] = pg_ip6_text(softwire->ends.br, texts->text[4]);
  put_number(texts, 5, softwire->psid_length);
  put_number(texts, 6, softwire->reserved);
}

/* Write `n` softwires, each as its template says: `reserved` is for one that has reserved
 * bits, `plain` for others. Their bytes 1 to 6 stand for ipv4, psid, b4-ipv6, br-address,
 * psid-length and reserved-ports-bit-count. How many bytes that are; there must be room
 * for SOFTWIRE_VALUE_MAX bytes in the place of each mark. */
uint64_t pg_print_softwires(const struct softwire *softwires, uint32_t n, const char *plain,
                            const char *reserved, char *text)
{
  struct texts texts;
  char *at = text;
  for (uint32_t i = 0; i < n; i++) {
    const char *from = softwires[i].reserved ? reserved : plain;
    put_all(&texts, &softwires[i]);
    for (;;) {
      unsigned char letter = (unsigned char)*from++;
      if (letter == 0)
        break;
      if (letter >= MARKS) {
        *at++ = (char)letter;
        continue;
      }
      memcpy(at, texts.text[letter], texts.length[letter]);
      at += texts.length[letter];
    }
  }
  return (uint64_t)(at - text);
}
