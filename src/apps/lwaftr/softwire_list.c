/* SPDX-License-Identifier: Apache-2.0
 *
 * Softwires of a configuration, read into a binding table: a million of them are why this
 * is in C. What is wrong is only marked here; Lua says it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "lwaftr.h"

enum leaf {
  IPV4, PSID, B4_IPV6, BR_ADDRESS, PADDING, PORT_SET, PSID_LENGTH, RESERVED, LEAVES
};

static const char *const NAMES[LEAVES] = {
  "ipv4", "psid", "b4-ipv6", "br-address", "padding", "port-set", "psid-length",
  "reserved-ports-bit-count"
};

static int leaf_named(const char *name, enum leaf first, enum leaf behind)
{
  for (enum leaf leaf = first; leaf < behind; leaf++)
    if (strcmp(name, NAMES[leaf]) == 0)
      return (int)leaf;
  return -1;
}

/* A decimal number up to `max`, or -1. */
static long number(const char *text, long max)
{
  long value = 0;
  if (!*text || strlen(text) > 9)
    return -1;
  for (; *text; text++) {
    if (*text < '0' || *text > '9')
      return -1;
    value = value * 10 + *text - '0';
  }
  return value <= max ? value : -1;
}

static bool read_value(struct softwire *softwire, enum leaf leaf, const char *text)
{
  long n;
  switch (leaf) {
  case IPV4:
    if (inet_pton(AF_INET, text, &softwire->ipv4) != 1)
      return false;
    softwire->ipv4 = ntohl(softwire->ipv4);
    return true;
  case B4_IPV6:
    return inet_pton(AF_INET6, text, softwire->ends.b4) == 1;
  case BR_ADDRESS:
    return inet_pton(AF_INET6, text, softwire->ends.br) == 1;
  case PSID:
    if ((n = number(text, 65535)) >= 0)
      softwire->psid = (uint16_t)n;
    return n >= 0;
  case PADDING:
    return number(text, 65535) >= 0;
  case PSID_LENGTH:
    if ((n = number(text, 16)) >= 0)
      softwire->psid_length = (uint8_t)n;
    return n >= 0;
  default:
    if ((n = number(text, 16)) >= 0)
      softwire->reserved = (uint8_t)n;
    return n >= 0;
  }
}

static int fail(struct lwaftr_scan *scan, struct softwire_list *list, int result,
                const char *key)
{
  list->line = scan->line;
  list->key = key;
  return result;
}

/* The leaves from `first` up to `behind`, and the brace behind them. */
static int read_leaves(struct lwaftr_scan *scan, struct softwire_list *list,
                       enum leaf first, enum leaf behind, unsigned *seen)
{
  for (;;) {
    int kind = pg_scan_token(scan);
    if (kind == SCAN_CLOSE)
      return LIST_OK;
    if (kind == SCAN_SEMICOLON)
      continue;
    if (kind != SCAN_WORD)
      return fail(scan, list, LIST_SYNTAX, "a name or '}'");
    int leaf = leaf_named(scan->text, first, behind);
    if (leaf < 0)
      return fail(scan, list, LIST_KEY, first == IPV4 ? "softwire" : NAMES[PORT_SET]);
    if (*seen & 1u << leaf)
      return fail(scan, list, LIST_TWICE, NAMES[leaf]);
    *seen |= 1u << leaf;
    kind = pg_scan_token(scan);
    if (leaf == PORT_SET) {
      if (kind != SCAN_OPEN)
        return fail(scan, list, LIST_SYNTAX, "'{'");
      int result = read_leaves(scan, list, PSID_LENGTH, LEAVES, seen);
      if (result != LIST_OK)
        return result;
      continue;
    }
    if (kind != SCAN_WORD)
      return fail(scan, list, LIST_SYNTAX, "a value");
    if (!read_value(&list->last, (enum leaf)leaf, scan->text))
      return fail(scan, list, LIST_VALUE, NAMES[leaf]);
    if (pg_scan_token(scan) != SCAN_SEMICOLON)
      return fail(scan, list, LIST_SYNTAX, "';'");
  }
}

/* Behind the word "softwire": read softwires as long as there are more, and add them to
 * the table; if `list` is bare, they come without the word. When something is wrong,
 * `list` says where, and the token is the scan's. */
int pg_scan_softwires(struct lwaftr_scan *scan, struct softwire_table *table,
                      struct softwire_list *list)
{
  static const enum leaf NEEDED[] = {IPV4, PSID, B4_IPV6, BR_ADDRESS, PSID_LENGTH};
  for (;;) {
    uint32_t line = scan->line;
    unsigned seen = 0;
    memset(&list->last, 0, sizeof list->last);
    if (pg_scan_token(scan) != SCAN_OPEN)
      return fail(scan, list, LIST_SYNTAX, "'{'");
    int result = read_leaves(scan, list, IPV4, PSID_LENGTH, &seen);
    if (result != LIST_OK)
      return result;
    for (size_t i = 0; i < sizeof NEEDED / sizeof *NEEDED; i++)
      if (!(seen & 1u << NEEDED[i])) {
        list->line = line;
        list->key = NAMES[NEEDED[i]];
        return LIST_MISSING;
      }
    result = pg_softwires_add(table, &list->last, false);
    if (result != SOFTWIRE_OK) {
      list->line = line;
      return result;
    }
    int kind = pg_scan_token(scan);
    bool more = list->bare ? kind == SCAN_OPEN
                           : kind == SCAN_WORD && strcmp(scan->text, "softwire") == 0;
    if (list->bare || !more)
      pg_scan_push(scan);
    if (!more)
      return LIST_OK;
  }
}
