-- SPDX-License-Identifier: Apache-2.0
-- RadixIPsecLookup: a table of routes, some of which are tunnels. Output 0 is for
-- packets that come out of tunnels, 1 for those that go into them, 2 for others to this
-- router; the rest are as everywhere.

local bit = require("bit")
local ffi = require("ffi")
local associations = require("click.net.associations")
local element = require("click.element")
local from_hex = require("net.wire.bytes").from_hex
local lookup = require("click.elements.ip.lookup")
local note = require("click.note")
local text_of = require("click.language.text")
local types = require("click.arguments").types
local wire = require("click.net.wire")

local tobit = bit.tobit
local words_t = ffi.typeof("int32_t *")
local DST_IP, SPI = note.DST_IP, note.IPSEC_SPI
local ASSOCIATION = note.IPSEC_SA_DATA_REFERENCE * 2 -- as index into note32
local IN, OUT, HERE = 1, 2, 3 -- outputs
local IP_HEADER, PROTOCOL, ESP, KEY = 20, 9, 50, 16
local RadixIPLookup = lookup[4]
local no_route = RadixIPLookup.no_route

local RadixIPsecLookup = element.define{
  name = "RadixIPsecLookup", extends = RadixIPLookup,
  division = "none", undivided = "packets of an association are numbered in one row",
  summary = "IP lookup using a radix trie, with IPsec tunnels",
  teller = "IPsecRouteTable",
  drops = {"no route", "no association"},
}

-- Routes into tunnels have outputs of their own in the table of routes, behind all that
-- there are.
function RadixIPsecLookup:configure_text(text)
  self.tunnels, self.inward = {}, {}
  RadixIPLookup.configure_text(self, text)
  self.source = nil -- another's table isn't taken: it has tunnels
end

function RadixIPsecLookup:cleanup()
  for _, tunnel in ipairs(self.tunnels or {}) do associations.remove(tunnel) end
  for _, sa in pairs(self.inward or {}) do associations.remove(sa) end
end

-- Sixteen bytes: as such, or in hexadecimal digits.
local function key_of(word)
  local text = text_of.unquote(word)
  if #text == KEY then return text end
  if #text ~= 2 * KEY or text:find("%X") then return nil end
  return from_hex(text)
end

local WORD, BYTE = {min = 0, max = 2 ^ 32 - 1}, {min = 0, max = 255}

--- The route into a tunnel: words are SPI, keys for AES and SHA-1, the number of its
--- first packet, and how many others a packet may be late by.
function RadixIPsecLookup:extend(route, words)
  local spi, start = types.int(words[1], WORD), types.int(words[4] or "", WORD)
  local cipher, auth = key_of(words[2] or ""), key_of(words[3] or "")
  local window = types.int(words[5] or "", BYTE)
  if #words ~= 5 or not (spi and cipher and auth and start and window)
    or route.port < 0 or route.port >= self.noutputs then
    return nil
  end
  local out, problem = associations.add(spi, cipher, auth, start, window)
  if not out then return self:error("%s", problem) end
  self.tunnels[#self.tunnels + 1] = out
  if not self.inward[spi] then
    self.inward[spi] = associations.add(spi, cipher, auth, start, window)
  end
  out.output = route.port + 1
  route.label = ("%d  |TUNNELED CONNECTION| SPI %d"):format(route.port, spi)
  route.output, route.port = route.port, self.noutputs + #self.tunnels - 1
  return route
end

--- The output that a port in the table of routes means.
function RadixIPsecLookup:output_of(port)
  return port > self.noutputs and self.tunnels[port - self.noutputs].output or port
end

-- Where a packet for this router goes, with what it needs there; or nil.
local function take_in(e, p)
  local data = p.data
  if p.length < IP_HEADER or data[PROTOCOL] ~= ESP then
    return e.noutputs >= HERE and HERE or nil
  end
  local header = bit.band(data[0], 15) * 4
  if p.length < header + 4 then return nil end
  local spi = wire.number_of(ffi.cast(words_t, data + header)[0])
  local sa = e.inward[spi]
  if not sa then
    e:say("Invalid SPI %d, Dropping packet", spi)
    return nil
  end
  p.note32[ASSOCIATION], p.note32[ASSOCIATION + 1] = sa.number, 0
  return IN
end

function RadixIPsecLookup:make_process()
  local find, tunnels, outputs = self.find, self.tunnels, self.noutputs
  return function (_, p)
    local word = tobit(p.note32[DST_IP])
    local port, gateway = find(word)
    if port < 0 then
      local q, o = no_route(self, word)
      return q, o
    end
    if port > outputs then
      local sa = tunnels[port - outputs]
      p.note32[SPI] = sa.spi
      p.note32[ASSOCIATION], p.note32[ASSOCIATION + 1] = sa.number, 0
      port = sa.output
    elseif port == IN then
      port = take_in(self, p)
      if not port then return nil, 2 end
    elseif port == OUT then
      return nil, 2
    end
    if gateway ~= 0 then p.note32[DST_IP] = gateway end
    return p, port
  end
end

return {RadixIPsecLookup}
