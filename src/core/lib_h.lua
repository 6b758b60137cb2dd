-- SPDX-License-Identifier: Apache-2.0
-- Declares the C functions that programs of Snabb's call as ffi.C.NAME: those of
-- native/compat.c.

local ffi = require("ffi")

ffi.cdef[[
uint64_t get_time_ns(void);
double get_monotonic_time(void);
double get_unix_time(void);
void sleep_ns(int nanoseconds);
void full_memory_barrier(void);
void prefetch_for_read(const void *address);
void prefetch_for_write(const void *address);
unsigned int stat_mtime(const char *path);
void nop(void);
]]
