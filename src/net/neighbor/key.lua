-- SPDX-License-Identifier: Apache-2.0
-- IP addresses as keys of a table of net.flow: a number (a word with a sign) or a
-- string of 4 or 16 bytes.

local ffi = require("ffi")

local key = {}

--- `length` bytes; of 0: a number.
key.type = ffi.typeof[[struct {
  union { uint8_t byte[16]; int32_t word; };
  uint32_t length, unused;
}]]

local ADDRESS = 16 -- bytes at most
local SIZE = ffi.sizeof(key.type)
local scratch = ffi.new(key.type)

--- The key of the `n` bytes (up to 16) at `pointer`; the next call overwrites it.
function key.at(pointer, n)
  assert(n <= ADDRESS, "an address has up to 16 bytes")
  ffi.fill(scratch, SIZE)
  scratch.length = n
  ffi.copy(scratch.byte, pointer, n)
  return scratch
end

--- The key of an address; the next call overwrites it.
function key.of(ip)
  if type(ip) == "string" then return key.at(ip, #ip) end
  ffi.fill(scratch, SIZE)
  scratch.word = ip
  return scratch
end

--- The address of a key, or nil if none has it.
function key.address(k)
  if k.length == 0 then return k.word end
  return (k.length == 4 or k.length == 16) and ffi.string(k.byte, k.length) or nil
end

return key
