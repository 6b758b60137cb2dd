-- SPDX-License-Identifier: Apache-2.0
-- Softwires as upstream's lib.ptree sends them to its workers: entries, and keys, of
-- the table that its apps.lwaftr.binding_table has.

local ffi = require("ffi")
local failure = require("core.failure")

local ptree_abi = {}

ffi.cdef[[
  struct lwaftr_key_blob { uint32_t ipv4; uint16_t psid; };
  struct lwaftr_entry_blob {
    uint32_t hash;
    struct lwaftr_key_blob key;
    uint8_t b4[16], br[16];
  };
]]

local key_t = ffi.typeof("struct lwaftr_key_blob")
local entry_t = ffi.typeof("struct lwaftr_entry_blob")

local function copied(type, blob)
  if ffi.sizeof(blob) ~= ffi.sizeof(type) then
    failure.raise("a softwire of upstream's has %d bytes, not %d", ffi.sizeof(type),
      ffi.sizeof(blob))
  end
  local result = type()
  ffi.copy(result, blob, ffi.sizeof(type))
  return result
end

--- Add the softwire of an entry, whose address must have some already: an entry doesn't
--- say how the address's ports are divided.
function ptree_abi.add(softwires, blob)
  local entry = copied(entry_t, blob)
  local length, reserved = softwires:port_set(entry.key.ipv4)
  if not length then
    failure.raise("a softwire was added to an address that has none")
  end
  local s = ffi.new("struct softwire", {ipv4 = entry.key.ipv4, psid = entry.key.psid,
    psid_length = length, reserved = reserved})
  ffi.copy(s.ends.b4, entry.b4, 16)
  ffi.copy(s.ends.br, entry.br, 16)
  softwires:add(s)
end

--- Remove the softwire of a key.
function ptree_abi.remove(softwires, blob)
  local key = copied(key_t, blob)
  if not softwires:remove(key.ipv4, key.psid) then
    failure.raise("a softwire was removed that isn't there")
  end
end

return ptree_abi
