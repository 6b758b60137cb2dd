-- SPDX-License-Identifier: Apache-2.0
-- One softwire as a table, as apps.lwaftr.conf_schema describes it, and as C's struct.

local ffi = require("ffi")
require("apps.lwaftr.softwires") -- declares struct softwire

local softwire = {}

local struct_t, address_t = ffi.typeof("struct softwire"), ffi.typeof("uint8_t[16]")

local function address(bytes)
  local result = address_t()
  ffi.copy(result, bytes, 16)
  return result
end

--- The table of a struct.
function softwire.table(s)
  return {
    ipv4 = s.ipv4, psid = s.psid, padding = 0,
    b4_ipv6 = address(s.ends.b4), br_address = address(s.ends.br),
    port_set = {psid_length = s.psid_length, reserved_ports_bit_count = s.reserved},
  }
end

--- The struct of a table.
function softwire.struct(t)
  local s = struct_t{ipv4 = t.ipv4, psid = t.psid,
    psid_length = t.port_set.psid_length,
    reserved = t.port_set.reserved_ports_bit_count}
  ffi.copy(s.ends.b4, t.b4_ipv6, 16)
  ffi.copy(s.ends.br, t.br_address, 16)
  return s
end

return softwire
