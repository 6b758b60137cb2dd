-- SPDX-License-Identifier: Apache-2.0
-- IPsec tunnels, the form that Click gives them: ESP (RFC 2406) with a vector of 8
-- bytes, padding to 8 bytes, HMAC-SHA-1-96 over what isn't encrypted yet, and AES whose
-- chain is of half blocks. Packets have an association (RadixIPsecLookup).

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.declare")("native/ip.h")
local associations = require("click.net.associations")
local element = require("click.element")
local front = require("click.net.front")
local ip_header = require("click.net.ip_header")
local IPEncap = require("click.elements.ip.encap")[1]
local note = require("click.note")
local packet = require("core.packet")
local wire = require("click.net.wire")

local band = bit.band
local bytes_t, words_t = ffi.typeof("uint8_t *"), ffi.typeof("int32_t *")
local FIX_IP_SRC = note.FIX_IP_SRC
local ASSOCIATION = note.IPSEC_SA_DATA_REFERENCE * 2 -- as index into note32
local HEADER, VECTOR, PROTOCOL = 16, 8, 9 -- bytes
local BLOCK, ALIGNMENT, TRAILER, DIGEST = 16, 8, 2, 12
local PADDING = ffi.new("uint8_t[7]", {1, 2, 3, 4, 5, 6, 7})
local MOST = packet.max_payload

local function association_of(p) return associations.find(p.note32[ASSOCIATION]) end

-- IPsecESPEncap --------------------------------------------------------------------

local IPsecESPEncap = element.define{
  name = "IPsecESPEncap", summary = "apply IPSec encapsulation",
  drops = {"no association", "too long"},
}

-- What it says it takes, an SPI, comes from the packet's association.
function IPsecESPEncap:configure_raw() end -- luacheck: no self

local function protocol_of(p)
  local ip = ip_header.begin(p)
  return ip and ip[PROTOCOL] or 0
end

function IPsecESPEncap.process(_, p)
  local sa, n, protocol = association_of(p), p.length, protocol_of(p)
  if not sa then return nil, 1 end
  local padding = band(-(n + TRAILER), ALIGNMENT - 1)
  if n + HEADER + padding + TRAILER > MOST or not front.open(p, HEADER) then
    return nil, 2
  end
  local data = p.data
  local words = ffi.cast(words_t, data)
  words[0] = wire.word_of(sa.spi)
  words[1] = wire.word_of(associations.next_number(sa))
  ffi.copy(data + VECTOR, associations.next_vector(sa), HEADER - VECTOR)
  local tail = data + HEADER + n
  ffi.copy(tail, PADDING, padding)
  tail[padding], tail[padding + 1] = padding, protocol
  p.length = HEADER + n + padding + TRAILER
  return p
end

-- IPsecESPUnencap ------------------------------------------------------------------

local IPsecESPUnencap = element.define{
  name = "IPsecESPUnencap", summary = "remove IPSec encapsulation",
  drops = {"no association", "too short", "replayed", "bad padding"},
}

-- The bytes of padding and trailer; nil if they aren't as they should be.
local function trailer_length(data, n)
  local padding = data[n - TRAILER]
  if padding + TRAILER > n then return nil end
  for i = 1, padding do
    if data[n - TRAILER - padding + i - 1] ~= i then return nil end
  end
  return padding + TRAILER
end

local function tell_once(e, text)
  if e.told then return end
  e.told = true
  e:say("%s", text)
end

function IPsecESPUnencap:process(p)
  local sa = association_of(p)
  if not sa then return nil, 1 end
  if p.length < HEADER + TRAILER then return nil, 2 end
  local number = wire.number_of(ffi.cast(words_t, p.data)[1])
  local problem = associations.refuse(sa, number)
  if problem then
    tell_once(self, "Replay protection: " .. problem)
    return nil, 3
  end
  front.cut(p, HEADER)
  local trailer = trailer_length(p.data, p.length)
  if not trailer then
    tell_once(self, "Corrupt padding")
    return nil, 4
  end
  p.length = p.length - trailer
  return p
end

-- IPsecAuthHMACSHA1 ----------------------------------------------------------------

local IPsecAuthHMACSHA1 = element.define{
  name = "IPsecAuthHMACSHA1", summary = "add or verify SHA1 authentication digest",
  ports = "1/-", processing = "a/ah",
  arguments = {{"VERIFY", "int", required = true}},
  drops = {"no association", "bad digest", "too long"},
}

function IPsecAuthHMACSHA1:configure(a) self.verify, self.bad = a.VERIFY ~= 0, 0 end

local digest = ffi.new("uint8_t[?]", DIGEST)

local function has_digest(p, sa)
  local n = p.length - DIGEST
  if n < 0 then return false end
  C.pg_esp_digest(sa.keys, p.data, n, digest)
  local there = ffi.cast(words_t, p.data + n)
  local right = ffi.cast(words_t, digest)
  return bit.bor(bit.bxor(there[0], right[0]), bit.bxor(there[1], right[1]),
    bit.bxor(there[2], right[2])) == 0
end

local function reject(e, p)
  if e.bad == 0 then e:say("Invalid SHA1 authentication digest") end
  e.bad = e.bad + 1
  if e.noutputs > 1 then return p, 2 end
  return nil, 2
end

function IPsecAuthHMACSHA1:process(p)
  local sa, n = association_of(p), p.length
  if not sa then return nil, 1 end
  if self.verify then
    if not has_digest(p, sa) then
      local q, o = reject(self, p)
      return q, o
    end
    p.length = n - DIGEST
    return p
  end
  if n + DIGEST > MOST then return nil, 3 end
  C.pg_esp_digest(sa.keys, p.data, n, p.data + n)
  p.length = n + DIGEST
  return p
end

IPsecAuthHMACSHA1.handlers = {
  drops = {read = function (e) return ("%d"):format(e.bad) end},
}

-- IPsecAES -------------------------------------------------------------------------

local IPsecAES = element.define{
  name = "IPsecAES", summary = "encrypt or decrypt packet using AES-CBC",
  arguments = {{"ENCRYPT", "int", required = true}},
  drops = {"no association", "not of whole blocks"},
}

function IPsecAES:configure(a)
  self.run = a.ENCRYPT ~= 0 and C.pg_esp_encrypt or C.pg_esp_decrypt
end

-- The digest stays as it is, but for 8 bytes where they are needed for a whole block.
function IPsecAES:process(p)
  local sa = association_of(p)
  if not sa then return nil, 1 end
  local n = p.length - HEADER - DIGEST
  if n <= 0 or n % ALIGNMENT ~= 0 then return nil, 2 end
  if n % BLOCK ~= 0 then n = n + ALIGNMENT end
  local data = ffi.cast(bytes_t, p.data)
  self.run(sa.keys, data + HEADER, n, data + VECTOR)
  return p
end

-- IPsecEncap -----------------------------------------------------------------------

-- The header goes to the tunnel's other end; where it leaves, it gets its source.
local IPsecEncap = element.define{
  name = "IPsecEncap", extends = IPEncap, live = true, handlers = {},
  division = "none", undivided = "packets of an association are numbered in one row",
  summary = "encapsulates packets in static IP header",
  arguments = {{"PROTO", "ip_proto", required = true}},
}

local TTL = 250

function IPsecEncap:configure(a)
  IPEncap.configure(self, {PROTO = a.PROTO, SRC = 0, DST = "DST_ANNO", TTL = TTL})
end

function IPsecEncap:process(p)
  p.note8[FIX_IP_SRC] = 1
  return IPEncap.process(self, p)
end

return {IPsecESPEncap, IPsecESPUnencap, IPsecAuthHMACSHA1, IPsecAES, IPsecEncap}
