-- SPDX-License-Identifier: Apache-2.0
-- CTXIPRoute: a table of routes as LookupIPRoute has it, for the destination in the
-- packet's IP header.

local element = require("click.element")
local lookup = require("click.elements.ip.lookup")
local note = require("click.note")
local bit = require("bit")
local ffi = require("ffi")

local tobit = bit.tobit
local DST_IP, NETWORK = note.DST_IP, note.NETWORK_HEADER
local DESTINATION, MINIMAL = 16, 20 -- bytes
local NO_HEADER = 2
local words_t = ffi.typeof("uint32_t *")

local LookupIPRoute
for _, class in ipairs(lookup) do
  if class.name == "LookupIPRouteMP" then LookupIPRoute = class end
end

local CTXIPRoute = element.define{
  name = "CTXIPRoute", extends = LookupIPRoute, teller = "CTXIPRoute",
  summary = "IP routing table, for the destination in the IP header",
  drops = {"no route", "no IPv4 header"}, reads = {"NETWORK_HEADER"},
  notes = "The IP header is where the packet's annotation says, else the packet begins "
    .. "with it. Packets get the route's gateway, or the destination, as destination "
    .. "annotation.",
  differs = "A packet of a route with a gateway leaves (FastClick's loses it), and "
    .. "routes of one output may have several gateways. The longest prefix counts.",
}

function CTXIPRoute:make_process()
  local find, no_route = self.find, self.no_route
  return function (_, p)
    local at = p.note16[NETWORK]
    if at == 0 then at = p.data_off end
    if at + MINIMAL > p.data_off + p.length then return nil, NO_HEADER end
    local address = ffi.cast(words_t, p.buf_addr + at + DESTINATION)[0]
    local port, gateway = find(tobit(address))
    if port < 0 then
      local q, o = no_route(self, tobit(address))
      return q, o
    end
    p.note32[DST_IP] = gateway ~= 0 and gateway or address
    return p, port
  end
end

return {CTXIPRoute}
