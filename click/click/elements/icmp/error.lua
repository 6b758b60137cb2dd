-- SPDX-License-Identifier: Apache-2.0
-- ICMPError: ICMP errors about IPv4 packets. One call of C makes them
-- (native/icmp_error.c): they are rare, and their loops would cost LuaJIT the loop
-- around them.

local ffi = require("ffi")
local C = require("core.declare")("native/ip.h")
local element = require("click.element")
local named = require("click.classification.ip.named")
local packet = require("core.packet")
local types = require("click.arguments").types
local wire = require("click.net.wire")

local ERRORS = {[3] = true, [4] = true, [5] = true, [11] = true, [12] = true}
local LEAST_MTU, DEFAULT_MTU = 68, 576 -- RFC 791; RFC 1812, section 4.3.2.3

local ICMPError = element.define{
  name = "ICMPError", live = true, summary = "generates ICMP error packets",
  division = "any",
  arguments = {
    {"SRC", "ip", required = true}, {"TYPE", "icmp_type", required = true},
    {"CODE", "word", default = "0"}, {"BADADDRS", "ip", list = true},
    {"MTU", "unsigned", default = DEFAULT_MTU, keyword = true, min = LEAST_MTU,
     max = packet.max_payload},
    {"PMTU", "unsigned", default = 0, keyword = true, max = 0xffff},
    {"SET_FIX_ANNO", "bool", default = true, keyword = true},
    {"USE_FIX_ANNO", "bool", default = true, keyword = true},
  },
  drops = {"no error for this"},
  reads = {"NETWORK_HEADER", "PACKET_TYPE", "ICMP_PARAMPROB", "DST_IP"},
}

-- Where the number of the next error is: all of a router's are numbered together, and
-- so are those of the router that takes its place.
local function ids_of(router)
  local old = rawget(router, "old")
  router.icmp_ids = router.icmp_ids or old and old.icmp_ids or ffi.new("uint16_t[1]", 1)
  return router.icmp_ids
end

function ICMPError:configure(a)
  if not ERRORS[a.TYPE] then
    return self:error("ICMP type %d is not an error type", a.TYPE)
  end
  local code = named.icmp_code(a.TYPE, a.CODE)
  if not code then
    return self:error("argument 2 takes ICMP code (integer between 0 and 255)")
  end
  local bad = a.BADADDRS or {}
  self.bad = ffi.new("uint32_t[?]", #bad + 1)
  for i, address in ipairs(bad) do self.bad[i - 1] = wire.word_of(address) end
  self.made = ffi.new("struct icmp_error", {
    source = wire.word_of(a.SRC), type = a.TYPE, code = code, mtu = a.MTU,
    path_mtu = a.PMTU, nbad = #bad, bad = self.bad, id = ids_of(self.router),
    fix_source = a.SET_FIX_ANNO and a.USE_FIX_ANNO,
  })
end

function ICMPError:process(p)
  local q = packet.allocate()
  if C.pg_icmp_error(self.made, p, q, self.router:now()) then
    packet.free(p)
    return q
  end
  packet.free(q)
  return nil, 1
end

local function number(field, spec)
  return {
    read = function (e) return ("%d"):format(e.made[field]) end,
    write = function (e, text)
      local value, problem = types.unsigned(text, spec)
      if not value then return problem or "expected unsigned integer" end
      e.made[field] = value
    end,
  }
end

ICMPError.handlers = {
  src = {
    read = function (e) return wire.word_text(e.made.source) end,
    write = function (e, text)
      local address = types.ip(text, {}, e)
      if not address then return "expected IP address" end
      e.made.source = wire.word_of(address)
    end,
  },
  mtu = number("mtu", {min = LEAST_MTU, max = packet.max_payload}),
  pmtu = number("path_mtu", {max = 0xffff}),
}

return {ICMPError}
