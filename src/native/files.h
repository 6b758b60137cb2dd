/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are read and written while packets pass (dpdk/files.c). Plain declarations,
 * as in api.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { FILE_END = -1, FILE_LINE_TOO_LONG = -2, FILE_FAILED = -3 };

void pg_file_uses(int fd, bool writes);
int pg_file_create(const char *path, int flags, bool anew);
int64_t pg_file_line(void *file, char *to, uint64_t room);
