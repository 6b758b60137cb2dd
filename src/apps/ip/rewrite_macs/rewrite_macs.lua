-- SPDX-License-Identifier: Apache-2.0
-- RewriteMacs: gives a packet the Ethernet addresses of its next hop, whose number
-- is in hash[1] (apps.ip.fib_lookup writes it there).

local ffi = require("ffi")
local failure = require("core.failure")

local RewriteMacs = {argument = "table", drops = {"no_next_hop", "short"}}
RewriteMacs.__index = RewriteMacs
RewriteMacs.division = "any"
RewriteMacs.reconfig_keeps = {}
local NO_NEXT_HOP, SHORT = 1, 2

RewriteMacs.link_names = {input = {input = true}, output = {output = true}}

local ETHERNET = 14
local addresses_t = ffi.typeof("struct { int32_t a, b, c; }") -- both, as they lie
local hops_t = ffi.typeof("struct { int32_t last; $ of[?]; }", addresses_t)
local pointer_t = ffi.typeof("$ *", addresses_t)

local function bytes_of(text)
  local bytes = {tostring(text):match(
    "^(%x%x):(%x%x):(%x%x):(%x%x):(%x%x):(%x%x)$")}
  if #bytes == 0 then
    failure.usage("'%s' isn't an Ethernet address such as 02:00:00:00:00:01",
      tostring(text))
  end
  for i, byte in ipairs(bytes) do bytes[i] = string.char(tonumber(byte, 16)) end
  return table.concat(bytes)
end

--- Make the app: `hops` is an array, by next hop, of {destination = , source = }
--- Ethernet addresses ("02:00:00:00:00:01").
function RewriteMacs:new(hops)
  local list = hops_t(#hops + 1)
  list.last = #hops
  for i, hop in ipairs(hops) do
    if type(hop) ~= "table" then
      failure.usage("hop %d is a %s; it takes {destination=, source=}", i, type(hop))
    end
    ffi.copy(list.of + i, bytes_of(hop.destination) .. bytes_of(hop.source), 12)
  end
  return setmetatable({hops = list}, self)
end

function RewriteMacs:process(p)
  if p.length < ETHERNET then return nil, SHORT end
  local hops, hop = self.hops, bit.tobit(p.hash[1])
  if hop < 1 or hop > hops.last then return nil, NO_NEXT_HOP end
  local to, from = ffi.cast(pointer_t, p.data), hops.of + hop
  to.a, to.b, to.c = from.a, from.b, from.c
  return p
end

return {RewriteMacs = RewriteMacs}
