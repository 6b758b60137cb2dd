-- SPDX-License-Identifier: Apache-2.0
-- AnonymizeIPAddr replaces addresses so that any two that begin with the same N bits
-- still do, and not the same N + 1 (tcpdpriv's -A50; Xu, Fan, Ammar and Moon,
-- Prefix-Preserving IP Address Anonymization, 2002). Its tree has a leaf for each
-- address that it has seen; a node above stands for what its two children begin with.

local bit = require("bit")
local ffi = require("ffi")
local element = require("click.element")
local note = require("click.note")
local text_of = require("click.language.text")
local types = require("click.arguments").types
local wire = require("click.net.wire")

local band, bor, bxor, tobit = bit.band, bit.bor, bit.bxor, bit.tobit
local lshift, rshift = bit.lshift, bit.rshift
local words_t, halves_t = ffi.typeof("int32_t *"), ffi.typeof("uint16_t *")
local NETWORK = note.NETWORK_HEADER
local HEADER, SUM, SOURCE, DESTINATION = 20, 10, 12, 16 -- bytes of IP
local PROTOCOL, ICMP, ICMP_HEADER, ICMP_SUM, QUOTED = 9, 1, 8, 2, 8
local QUOTING = {[3] = true, [4] = true, [5] = true, [11] = true, [12] = true}
local ANY_CLASS, ALL = 99, 32

local AnonymizeIPAddr = element.define{
  name = "AnonymizeIPAddr", summary = "replaces IP addresses, preserving prefixes",
  ports = "1/1-2", processing = "a/ah", drops = {"not IP"}, reads = {"NETWORK_HEADER"},
  fills_cache = true,
  arguments = {
    {"CLASS", "int", default = 0, min = 0, keyword = true,
      meaning = "so many first ones stay: 4 keeps the classes; 99 is 32"},
    {"PRESERVE_8", "argument", keyword = true,
      meaning = "first bytes, with spaces between, that addresses keep"},
    {"SEED", "bool", keyword = true, meaning = "changes nothing"},
  },
}

-- The bytes that PRESERVE_8 lists, or nil after an error.
local function kept_bytes(self, text)
  local list = {}
  for _, word in ipairs(text_of.words(text or "")) do
    local byte = types.int(word, {min = 0, max = 255})
    if not byte then
      return self:error("PRESERVE_8 expects integer between 0 and 255")
    end
    list[#list + 1] = byte
  end
  return list
end

function AnonymizeIPAddr:configure(a)
  self.class_bits = a.CLASS == ANY_CLASS and ALL or a.CLASS
  if self.class_bits > ALL then
    return self:error("CLASS must be between 0 and 32")
  end
  self.kept = kept_bytes(self, a.PRESERVE_8)
end

-- The tree: a node is {input =, output =, [0] =, [1] =}, numbers of 32 bits ----------

local function random_word()
  return bor(lshift(math.random(0, 0xffff), 16), math.random(0, 0xffff))
end

-- The first bit, from 1 on, in which the two differ.
local function first_difference(a, b)
  local _, exponent = math.frexp(wire.number_of(wire.word_of(bxor(a, b))))
  return ALL + 1 - exponent
end

local function bit_of(a, place) return band(rshift(a, ALL - place), 1) end

-- What stands for an address that differs at `place` first from one that has `output`.
local function new_output(output, place)
  if place == ALL then return bxor(output, 1) end
  local known = lshift(bxor(rshift(output, ALL - place), 1), ALL - place)
  return bor(known, rshift(band(random_word(), 0x7fffffff), place))
end

-- Give address `a` a leaf beside all that is below `node`.
local function add_beside(node, a)
  local place = first_difference(a, node.input)
  local leaf = {input = a, output = new_output(node.output, place)}
  local former = {input = node.input, output = node.output, [0] = node[0],
                  [1] = node[1]}
  local side = bit_of(a, place)
  node[side], node[1 - side] = leaf, former
  node.input, node.output = node[1].input, node[1].output
  return leaf
end

local function leaf_of(root, a)
  local node = root
  while node.input ~= a do
    if not node[0] then return add_beside(node, a) end
    local place = first_difference(node[0].input, node[1].input)
    if first_difference(a, node.input) < place then return add_beside(node, a) end
    node = node[bit_of(a, place)]
  end
  return node
end

function AnonymizeIPAddr:initialize()
  local root = {input = 1, output = random_word()} -- 0.0.0.0 is never in the tree
  self.root = root
  if self.class_bits > 0 then
    local mask = self.class_bits == ALL and -1
      or bit.bnot(rshift(-1, self.class_bits))
    root.input, root.output = mask, bor(root.output, mask)
  end
  for i, byte in ipairs(self.kept) do
    local address = lshift(byte, 24)
    if i == 1 and self.class_bits == 0 then
      root.input, root.output = address, bor(band(root.output, 0xffffff), address)
    else
      local leaf = leaf_of(root, address)
      leaf.output = bor(band(leaf.output, 0xffffff), address)
    end
  end
end

-- Packets ---------------------------------------------------------------------------

-- The word that comes in the place of `word`. 0.0.0.0 and 255.255.255.255 stay.
local function replaced(self, word)
  if word == 0 or word == -1 then return word end
  return wire.word_of(leaf_of(self.root, tobit(wire.number_of(word))).output)
end

local function sum_of(word) return band(word, 0xffff) + rshift(word, 16) end

-- Replace both addresses of the IP header at `ip`; what that adds to a sum of ones'
-- complements (RFC 1624).
local function replace_both(self, ip)
  local added = 0
  for at = SOURCE, DESTINATION, DESTINATION - SOURCE do
    local address = ffi.cast(words_t, ip + at)
    local new = replaced(self, address[0])
    added = added + sum_of(bit.bnot(address[0])) + sum_of(new)
    address[0] = new
  end
  return added
end

local function add_to_sum(at, added)
  local half = ffi.cast(halves_t, at)
  local sum = band(bit.bnot(half[0]), 0xffff) + added
  sum = sum_of(sum_of(sum))
  half[0] = band(bit.bnot(sum), 0xffff)
end

-- The header that an ICMP error quotes, too. `available`: bytes at `icmp`.
local function replace_quoted(self, icmp, available)
  if available < ICMP_HEADER + HEADER or not QUOTING[icmp[0]] then return end
  local size = band(icmp[ICMP_HEADER], 0x0f) * 4
  if size < HEADER or available < ICMP_HEADER + size + QUOTED then return end
  add_to_sum(icmp + ICMP_SUM, replace_both(self, icmp + ICMP_HEADER))
end

function AnonymizeIPAddr:process(p)
  local at, limit = p.note16[NETWORK], p.data_off + p.length
  local ip = p.buf_addr + at
  if at == 0 or at + HEADER > limit or rshift(ip[0], 4) ~= 4 then
    if self.noutputs > 1 then return p, 2 end
    return nil, 1
  end
  add_to_sum(ip + SUM, replace_both(self, ip))
  if ip[PROTOCOL] == ICMP then
    local size = band(ip[0], 0x0f) * 4
    replace_quoted(self, ip + size, limit - at - size)
  end
  wire.barrier()
  return p
end

function AnonymizeIPAddr:take_state(old) self.root = old.root end

return {AnonymizeIPAddr}
