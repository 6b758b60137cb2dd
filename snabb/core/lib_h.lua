-- SPDX-License-Identifier: Apache-2.0
-- Declares what programs of Snabb's use of its C code as ffi.C.NAME: the functions
-- of snabb/native/compat.c, and constants (those of links are in native/api.h).

local ffi = require("ffi")

ffi.cdef[[
enum { PACKET_PAYLOAD_SIZE = 10240 };

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
