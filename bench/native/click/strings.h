/* SPDX-License-Identifier: Apache-2.0
 *
 * Strings, by Hyperscan as Perigee looks for them.
 */
#pragma once

#include <dlfcn.h>

#include "interfaces.h"

static struct {
  int (*scan)(const void *, const char *, unsigned, unsigned, void *,
              int (*)(unsigned, unsigned long long, unsigned long long, unsigned,
                      void *), void *);
  void *database, *scratch;
} strings;

static int on_string(unsigned id, unsigned long long from, unsigned long long to,
                     unsigned flags, void *found)
{
  (void)id, (void)from, (void)to, (void)flags;
  *(bool *)found = true;
  return 1;
}

static void do_strings(struct rte_mbuf *m)
{
  bool found = false;
  strings.scan(strings.database, rte_pktmbuf_mtod(m, const char *), m->data_len, 0,
               strings.scratch, on_string, &found);
  put(&outs[found], m);
}

/* `list`: separated by commas. */
static void look_for(char *list)
{
  enum { MOST = 64, BLOCK = 1, ONCE = 8 };
  const char *text[MOST];
  unsigned flags[MOST], n = 0;
  size_t size[MOST];
  void *hs = dlopen("libhs.so.5", RTLD_NOW), *error;
  check(hs, "loading Hyperscan");
  int (*compile)(const char *const *, const unsigned *, const unsigned *,
                 const size_t *, unsigned, unsigned, const void *, void **, void **) =
    dlsym(hs, "hs_compile_lit_multi");
  int (*scratch)(const void *, void **) = dlsym(hs, "hs_alloc_scratch");
  strings.scan = dlsym(hs, "hs_scan");
  check(compile && scratch && strings.scan, "finding Hyperscan's functions");
  for (char *s = strtok(list, ","); s && n < MOST; s = strtok(NULL, ",")) {
    text[n] = s;
    flags[n] = ONCE;
    size[n++] = strlen(s);
  }
  check(compile(text, flags, NULL, size, n, BLOCK, NULL, &strings.database, &error) == 0,
        "compiling strings");
  check(scratch(strings.database, &strings.scratch) == 0, "making a scratch");
}
