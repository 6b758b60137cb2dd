-- SPDX-License-Identifier: Apache-2.0
-- Declares the checksum functions that programs of Snabb's call as ffi.C.NAME
-- (snabb/native/compat_sum.c).

local ffi = require("ffi")

ffi.cdef[[
uint16_t cksum_generic(unsigned char *p, size_t n, uint16_t initial);
void checksum_update_incremental_16(uint16_t *checksum, uint16_t *word, uint16_t value);
void checksum_update_incremental_32(uint16_t *checksum, uint32_t *word, uint32_t value);
uint32_t pseudo_header_initial(const int8_t *buffer, size_t n);
]]
