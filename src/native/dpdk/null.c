/* SPDX-License-Identifier: Apache-2.0
 *
 * A packet that is a NULL pointer is found by the processor when its length is read: to
 * look before would cost each packet a part of a cycle. Here that becomes a sentence
 * that says which app was at work. Other faults end the process as ever.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "../log.h"
#include "clock.h"
#include "internal.h"

enum { FIRST_PAGE = 4096 }; /* nothing is ever mapped there */

static void on_fault(int number, siginfo_t *info, void *context)
{
  const char *line = "", *app = NULL;
  char call[160], place[160];
  signal(number, SIG_DFL);
  if (info->si_code <= 0 || (uintptr_t)info->si_addr >= FIRST_PAGE || !pg_reader)
    return; /* it comes again */
  bool known = pg_where_compiled(pg_reader, context, &line, &app);
  if (!known && (known = pg_where_mapped(context, place, sizeof place)))
    line = place;
  pg_what_call(pg_reader, app, call, sizeof call);
  pg_logf(LOG_ERROR, "%s%s%s: NULL was used as a packet, or as an address; which app "
          "has sent it: see `perigee --check PROGRAM`", call,
          known ? ", at " : "", line);
  pg_end(1);
}

void pg_catch_null(void)
{
#ifndef __SANITIZE_ADDRESS__
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, NULL);
#endif
}
