/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "text.h"

enum { GROUPS = 8, MAPPED = 5 };

static char *put_decimal(char *to, uint8_t value)
{
  if (value >= 100)
    *to++ = (char)('0' + value / 100);
  if (value >= 10)
    *to++ = (char)('0' + value / 10 % 10);
  *to++ = (char)('0' + value % 10);
  return to;
}

static char *put_group(char *to, uint16_t group)
{
  int shift = 12;
  while (shift > 0 && !(group >> shift))
    shift -= 4;
  for (; shift >= 0; shift -= 4)
    *to++ = "0123456789abcdef"[group >> shift & 15];
  return to;
}

static uint32_t end(char *to, const char *begin)
{
  *to = 0;
  return (uint32_t)(to - begin);
}

/* "192.0.2.1" of 4 bytes. */
uint32_t pg_ip4_text(const uint8_t *address, char *to)
{
  char *at = to;
  for (int i = 0; i < 4; i++) {
    if (i > 0)
      *at++ = '.';
    at = put_decimal(at, address[i]);
  }
  return end(at, to);
}

/* The longest run of zeros, the first such, of two groups at least; how many they are. */
static int longest_zeros(const uint16_t *group, int *first)
{
  int longest = 1;
  for (int i = 0, run = 0; i < GROUPS; i++) {
    run = group[i] ? 0 : run + 1;
    if (run > longest) {
      longest = run;
      *first = i + 1 - run;
    }
  }
  return longest > 1 ? longest : 0;
}

/* "2001:db8::1" of 16 bytes, as RFC 5952 has it; "::ffff:192.0.2.1" (its section 5). What
 * inet_ntop() writes differs: "::0.2.0.0" for ::2:0. */
uint32_t pg_ip6_text(const uint8_t *address, char *to)
{
  uint16_t group[GROUPS];
  for (int i = 0; i < GROUPS; i++)
    group[i] = (uint16_t)(address[2 * i] << 8 | address[2 * i + 1]);
  int first = GROUPS, zeros = longest_zeros(group, &first);
  char *at = to;
  if (first == 0 && zeros == MAPPED && group[MAPPED] == 0xffff) {
    memcpy(at, "::ffff:", 7);
    return 7 + pg_ip4_text(address + 12, at + 7);
  }
  for (int i = 0; i < GROUPS;) {
    if (i == first) {
      *at++ = ':';
      *at++ = ':';
      i += zeros;
      continue;
    }
    if (i > 0 && i != first + zeros)
      *at++ = ':';
    at = put_group(at, group[i++]);
  }
  return end(at, to);
}
