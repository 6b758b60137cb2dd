/* SPDX-License-Identifier: Apache-2.0
 *
 * What an upgrade passes from one process to the next: descriptors, and bytes that say
 * what they are (SCM_RIGHTS, unix(7)). Plain declarations: core.declare reads them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PASSED_MOST_FDS = 64, PASSED_MOST_BYTES = 2048 };

/* A message. Its first four bytes are the layout of all. */
struct passed {
  struct passed *next;
  int count;                 /* of descriptors; who uses one puts -1 in its place */
  int fds[PASSED_MOST_FDS];
  size_t size;               /* bytes */
  union {
    uint32_t layout;
    uint8_t bytes[PASSED_MOST_BYTES];
  };
};

int pg_passed_listen(const char *path);
int pg_passed_connect(const char *path, int pid);
uint32_t pg_passed_accept(int listener);
void pg_passed_forget(void);
bool pg_passed_taking(void);
int pg_pass(int connection, const void *bytes, size_t size, const int *fds, int count);
bool pg_passed_use(uint32_t layout, size_t size, bool (*use)(struct passed *, void *),
                   void *argument);
