-- SPDX-License-Identifier: Apache-2.0
-- The binding table (RFC 7596, section 4): which softwire an IPv4 address and a port
-- belong to. The table is C's (softwires.h says how it is made), one for all CPUs.

local ffi = require("ffi")
local C = require("core.declare")("apps/lwaftr/lwaftr.h")
local failure = require("core.failure")

local Softwires = {}
Softwires.__index = Softwires

local softwire_t = ffi.typeof("struct softwire")
local list_t = ffi.typeof("struct softwire[?]")

local address_text = require("lib.stack.address").ip4ToString

local WRONG = {
  [C.SOFTWIRE_EXISTS] = function (s)
    return ("softwire %s psid %d is there already"):format(address_text(s.ipv4),
      s.psid)
  end,
  [C.SOFTWIRE_OTHER_PORT_SET] = function (s, port_set)
    return ("softwire %s psid %d has psid-length %d and reserved-ports-bit-count %d, "
      .. "but others of its address have %d and %d"):format(address_text(s.ipv4),
      s.psid, s.psid_length, s.reserved, port_set % 256, math.floor(port_set / 256))
  end,
  [C.SOFTWIRE_BAD_PORT_SET] = function (s)
    return ("softwire %s psid %d: psid-length %d and reserved-ports-bit-count %d are "
      .. "more than 16 bits"):format(address_text(s.ipv4), s.psid, s.psid_length,
      s.reserved)
  end,
  [C.SOFTWIRE_NO_B4] = function (s)
    return ("softwire %s psid %d: '::' isn't the address of a B4"):format(
      address_text(s.ipv4), s.psid)
  end,
  [C.SOFTWIRE_NO_MEMORY] = function ()
    return "there is no memory for more softwires"
  end,
}

--- Of a struct softwire_table, which is theirs from now on.
function Softwires.of(table)
  return setmetatable({table = ffi.gc(table, C.pg_softwires_free)}, Softwires)
end

--- An empty table.
function Softwires.new()
  local table = C.pg_softwires_new()
  if table == nil then failure.raise("there is no memory for a binding table") end
  return Softwires.of(table)
end

--- Give up the struct softwire_table, which somebody else frees.
function Softwires:release()
  local table = ffi.gc(self.table, nil)
  self.table = nil
  setmetatable(self, nil)
  return table
end

--- Why adding the struct softwire `s` gave `result`: a sentence without its end.
function Softwires:wrong(result, s)
  return WRONG[result](s, C.pg_softwires_port_set(self.table, s.ipv4))
end

--- Add a struct softwire; one of its address and PSID is replaced if `replace` is true.
--- Raises a failure if it can't be.
function Softwires:add(s, replace)
  local result = C.pg_softwires_add(self.table, s, replace or false)
  if result ~= C.SOFTWIRE_OK then failure.usage("%s", self:wrong(result, s)) end
end

--- Remove the softwire of an IPv4 address (a number) and a PSID. Was it there?
function Softwires:remove(ipv4, psid)
  return C.pg_softwires_remove(self.table, ipv4, psid)
end

--- The struct softwire of an address and a PSID, or nil.
function Softwires:get(ipv4, psid)
  local s = softwire_t()
  return C.pg_softwires_get(self.table, ipv4, psid, s) and s or nil
end

--- The ends (struct softwire_ends) of the softwire that an address and a port belong
--- to, or nil.
function Softwires:find(ipv4, port)
  local ends = ffi.new("struct softwire_ends")
  return C.pg_softwires_find(self.table, ipv4, port, ends) and ends or nil
end

--- Is there a softwire of this address?
function Softwires:is_managed(ipv4)
  return C.pg_softwires_is_managed(self.table, ipv4)
end

--- How many softwires there are.
function Softwires:count()
  return C.pg_softwires_count(self.table)
end

--- Bytes of memory that the table takes.
function Softwires:bytes()
  return C.pg_softwires_bytes(self.table)
end

--- PSID length and reserved bits of an address, or nil if it has no softwires.
function Softwires:port_set(ipv4)
  local found = C.pg_softwires_port_set(self.table, ipv4)
  if found >= 0 then return found % 256, math.floor(found / 256) end
end

--- All softwires by address and PSID: an array of struct softwire, and how many.
function Softwires:list()
  local n = self:count()
  local list = list_t(math.max(n, 1))
  return list, C.pg_softwires_list(self.table, list, n)
end

return Softwires
