-- SPDX-License-Identifier: Apache-2.0
-- AddressTranslator: network address translation of IPv6. Packets outward (input and
-- output 0) get another source, those inward (1) another destination, by mappings that
-- were configured, or are made for the first packets of one of the directions. Packets
-- begin with the IPv6 header.

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local element = require("click.element")
local text_of = require("click.language.text")
local types = require("click.arguments").types
local wire = require("click.net.wire")

local rshift = bit.rshift
local halves_t = ffi.typeof("uint16_t *")
local HEADER, SOURCE, DESTINATION, ADDRESS = 40, 8, 24, 16 -- bytes
local TCP, UDP, ICMP6 = 6, 17, 58
local LEAST = {[TCP] = 20, [UDP] = 8, [ICMP6] = 4} -- bytes
local MOST_FLOWS = 65536 -- without ports, of which there are no more than so many

local AddressTranslator = element.define{
  name = "AddressTranslator", summary = "translates IPv6 packets' addresses and ports",
  ports = "2/2", processing = "h/h", flow = "#/#",
  drops = {"no mapping", "not translated"},
}

-- Configuration --------------------------------------------------------------------

-- The two sides hold their mappings by the packets' bytes: address; address and port;
-- or both addresses (and both ports) as they are in packets. A mapping has the
-- address and maybe the port (as in memory) that take the place.
local function prepare(e)
  e.outward = {known = {}, at = SOURCE, port = 0}
  e.inward = {known = {}, at = DESTINATION, port = 1}
  e.outward.other, e.inward.other = e.inward, e.outward
  e.used, e.flows, e.pool = 0, 0, {}
end

local function port_bytes(port)
  return string.char(rshift(port, 8), bit.band(port, 255))
end

local function add_static(e, inner, inner_port, mapped, mapped_port)
  local from, to = inner, mapped
  if e.static_ports then
    from, to = inner .. port_bytes(inner_port), mapped .. port_bytes(mapped_port)
    inner_port, mapped_port = wire.swap16(inner_port), wire.swap16(mapped_port)
  end
  local out, back = e.outward.known, e.inward.known
  out[from] = out[from] or {address = mapped, port = mapped_port}
  back[to] = back[to] or {address = inner, port = inner_port}
end

-- "INNER [PORT] MAPPED [PORT]".
local function parse_static(e, text)
  local words, inner_port, mapped_port = text_of.words(text), nil, nil
  if e.static_ports then
    inner_port = types.ip_port(table.remove(words, 2) or "", {}, e)
    mapped_port = types.ip_port(table.remove(words, 3) or "", {}, e)
    if not (inner_port and mapped_port) then return false end
  end
  local inner = types.ip6(words[1] or "", {}, e)
  local mapped = types.ip6(words[2] or "", {}, e)
  if #words ~= 2 or not (inner and mapped) then return false end
  add_static(e, inner, inner_port, mapped, mapped_port)
  return true
end

-- "ADDRESS FIRST LAST", the ports to choose from.
local function parse_ports(e, text)
  local words = text_of.words(text)
  e.mapped = types.ip6(words[1] or "", {}, e)
  e.first = types.ip_port(words[2] or "", {}, e)
  e.last = types.ip_port(words[3] or "", {}, e)
  return #words == 3 and e.mapped and e.first and e.last
    and 0 < e.first and e.first <= e.last
end

function AddressTranslator:configure_raw(texts)
  prepare(self)
  local at = 0
  local function bad(what) self:error("argument %d should be : %s", at, what) end
  local function take(kind)
    at = at + 1
    local value = texts[at] and types[kind](texts[at], {}, self)
    if value == nil then bad(kind) end
    return value
  end
  local n = take("int")
  if n and n > 0 then
    self.static_ports = take("bool")
    for _ = 1, n do
      at = at + 1
      if not parse_static(self, texts[at] or "") then
        return bad(self.static_ports and "ADDR PORT ADDR PORT" or "ADDR ADDR")
      end
    end
  end
  self.dynamic = take("bool")
  if not self.dynamic then return end
  self.dynamic_ports = take("bool")
  self.allocating = take("bool") and self.inward or self.outward
  if self.dynamic_ports then
    at = at + 1
    if not parse_ports(self, texts[at] or "") then bad("ADDR PORT PORT") end
    return
  end
  while at < #texts do table.insert(self.pool, take("ip6")) end
end

-- Packets --------------------------------------------------------------------------

-- Bind the next address that is free to the packet's.
local function allocate_address(e, side, ip6)
  local address = table.remove(e.pool, 1)
  if not address then return nil end
  local own = ffi.string(ip6 + side.at, ADDRESS)
  side.known[own] = {address = address}
  side.other.known[address] = {address = own}
  return side.known[own]
end

-- The next port that is free, as in memory; nil: none, or packets have none.
local function next_port(e, has_ports)
  if not has_ports then
    e.flows = e.flows + 1
    return e.flows <= MOST_FLOWS, nil
  end
  if e.first + e.used > e.last then
    if not e.told then e:say("AddressTranslator ran out of ports") end
    e.told = true
    return false
  end
  e.used = e.used + 1
  return true, wire.swap16(e.first + e.used - 1)
end

-- The flow's packets in the other direction, as they will come.
local function answer_of(e, side, ip6, port)
  local own_first = side.other.at == SOURCE
  local peer = ffi.string(ip6 + side.other.at, ADDRESS)
  local key = own_first and e.mapped .. peer or peer .. e.mapped
  if not port then return key end
  local peer_port = ffi.cast(halves_t, ip6 + HEADER)[1 - side.port]
  local ports = ffi.new("uint16_t[2]")
  ports[side.other.port], ports[side.port] = port, peer_port
  return key .. ffi.string(ports, 4)
end

local function allocate_flow(e, side, ip6, flow, has_ports)
  local free, port = next_port(e, has_ports)
  if not free then return nil end
  side.known[flow] = {address = e.mapped, port = port}
  local own = ffi.string(ip6 + side.at, ADDRESS)
  side.other.known[answer_of(e, side, ip6, port)] =
    {address = own, port = port and ffi.cast(halves_t, ip6 + HEADER)[side.port]}
  return side.known[flow]
end

local function find(e, side, ip6, has_ports)
  local known, own = side.known, ffi.string(ip6 + side.at, ADDRESS)
  local mapping = known[own] or has_ports
    and known[own .. ffi.string(ip6 + HEADER + side.port * 2, 2)]
  if mapping then return mapping end
  local flow = ffi.string(ip6 + SOURCE, 2 * ADDRESS + (has_ports and 4 or 0))
  if known[flow] then return known[flow] end
  if not e.dynamic or e.allocating ~= side then return nil end
  if e.dynamic_ports then return allocate_flow(e, side, ip6, flow, has_ports) end
  return allocate_address(e, side, ip6)
end

-- The length of what is behind the header; nil if it isn't translated.
local function examine(p)
  local ip6 = p.data
  if p.length < HEADER or rshift(ip6[0], 4) ~= 6 then return nil end
  local least, size = LEAST[ip6[6]], wire.swap16(ffi.cast(halves_t, ip6)[2])
  if not least or size < least or HEADER + size > p.length then return nil end
  return size
end

function AddressTranslator:process(p, i)
  local size = examine(p)
  if not size then return nil, 2 end
  local ip6, side = p.data, i == 1 and self.outward or self.inward
  local protocol, halves = ip6[6], ffi.cast(halves_t, ip6 + HEADER)
  local mapping = find(self, side, ip6, protocol ~= ICMP6)
  if not mapping then return nil, 1 end
  ffi.copy(ip6 + side.at, mapping.address, ADDRESS)
  if mapping.port then halves[side.port] = mapping.port end
  C.pg_ip6_l4_set(ip6, ip6 + HEADER, size, protocol)
  return p, i
end

return {AddressTranslator}
