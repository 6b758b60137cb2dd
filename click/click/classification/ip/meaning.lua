-- SPDX-License-Identifier: Apache-2.0
-- The tests that a primitive of an IP pattern stands for, as a tree. Offsets are as
-- Click's programs write them: from NETWORK on those in the IP header, from TRANSPORT
-- on those in the header behind it, and below them the Ethernet header, two bytes
-- further in than it is (so that the words of the IP header are aligned).

local bit = require("bit")

local names = require("click.classification.ip.names")
local tree = require("click.classification.tree")

local meaning = {NETWORK = 256, TRANSPORT = 512}

local NETWORK, TRANSPORT = meaning.NETWORK, meaning.TRANSPORT
local PROTOCOL, FRAGMENT, SOURCE, DESTINATION = 8, 4, 12, 16 -- RFC 791, words of bytes
local FRAGMENT_OFFSET, FRAGMENT_BITS = 0x1fff, 0x3fff
local FLAGS = 12 -- RFC 793
local ETHER_DESTINATION, ETHER_SOURCE = 2, 8

local function band(a, b) return bit.band(a, b) % 2 ^ 32 end

local function shifted(word, shift) return word * 2 ^ shift end

local function top_bit(word)
  local _, bits = math.frexp(word)
  return 2 ^ (bits - 1)
end

-- Is `input & mask` above `value`? The top bits of the mask are compared first. Where
-- `value` has zeros there, input is above if it has any of them; where it has ones,
-- input must have them all. The last zeros, or ones, decide together with the bits
-- below.
local function above(offset, shift, mask, value)
  if value >= mask then return nil end
  local high = value >= top_bit(mask)
  local differing = high and band(bit.bnot(value + 1), mask) or value
  local upper = mask
  if differing > 0 then upper = mask - band(mask, 2 * top_bit(differing) - 1) end
  local rest = mask - upper
  local test = tree.test(offset, shifted(high and upper or 0, shift),
    shifted(upper, shift))
  local lower = above(offset, shift, rest, band(value, rest))
  if high then return tree.both{test, lower} end
  return tree.either{tree.negated(test, true), lower}
end

local function comparison(p, offset, shift)
  if p.op == "=" then
    local value = band(p.value, p.mask)
    return tree.test(offset, shifted(value, shift), shifted(p.mask, shift))
  end
  return above(offset, shift, p.mask, p.value)
end

local function is_protocol(protocol)
  local function is(number)
    return tree.test(NETWORK + PROTOCOL, number * 2 ^ 16, 0x00ff0000)
  end
  if protocol == names.TCP_OR_UDP then
    return tree.either{is(names.TCP), is(names.UDP)}
  elseif protocol < 256 then
    return is(protocol)
  end
end

-- A test of the source, of the destination, or of both.
local function ends(p, source, destination)
  local parts = {}
  if p.way ~= "dst" then parts[1] = source() end
  if p.way ~= "src" then parts[#parts + 1] = destination() end
  local node = (p.way == "or" and tree.either or tree.both)(parts)
  return p.negated and tree.negated(node, true) or node
end

local function word(text)
  local a, b, c, d = text:byte(1, 4)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

-- An Ethernet address is in two words: it begins at byte `offset`.
local function ether_address(p, offset)
  local front = offset % 4
  local value = ("\0"):rep(front) .. p.value .. "\0\0"
  local mask = ("\0"):rep(front) .. p.mask .. "\0\0"
  local first = offset - front
  return tree.both{
    tree.test(first, word(value), word(mask)),
    tree.test(first + 4, word(value:sub(5)), word(mask:sub(5))),
  }
end

local kinds = {}

function kinds.host(p)
  return ends(p, function () return comparison(p, NETWORK + SOURCE, 0) end,
    function () return comparison(p, NETWORK + DESTINATION, 0) end)
end

function kinds.port(p)
  return ends(p, function () return comparison(p, TRANSPORT, 16) end,
    function () return comparison(p, TRANSPORT, 0) end)
end

function kinds.ether(p)
  return ends(p, function () return ether_address(p, ETHER_SOURCE) end,
    function () return ether_address(p, ETHER_DESTINATION) end)
end

function kinds.proto(p)
  if (p.transport or 0) >= 256 then return nil end -- it is tested in any case
  local node = comparison(p, NETWORK + PROTOCOL, 16)
  if p.value >= 256 then node = is_protocol(p.value) or tree.all() end
  return p.negated and tree.negated(node, true) or node
end

function kinds.frag(p)
  local node = tree.test(NETWORK + FRAGMENT, 0, FRAGMENT_BITS)
  return p.negated and node or tree.negated(node, true)
end

function kinds.tcpopt(p)
  return tree.test(TRANSPORT + FLAGS, p.value * 2 ^ 16, p.mask * 2 ^ 16)
end

local function field(p)
  local f = p.kind
  local start = f.offset - f.offset % 32
  local offset = (f.protocol and TRANSPORT or NETWORK) + start / 8
  local node = comparison(p, offset, 32 - (f.offset - start) - f.length)
  return p.negated and tree.negated(node, true) or node
end

--- The tree of a primitive that has been checked.
function meaning.of(p)
  local parts = {}
  local function add(node) parts[#parts + 1] = node end
  local is_field = type(p.kind) == "table"
  if p.transport then add(is_protocol(p.transport)) end
  if p.kind == "port" or p.kind == "tcpopt" or is_field and p.kind.protocol then
    add(tree.test(NETWORK + FRAGMENT, 0, FRAGMENT_OFFSET))
  end
  if is_field then add(field(p)) else add(kinds[p.kind](p)) end
  return tree.both(parts)
end

return meaning
