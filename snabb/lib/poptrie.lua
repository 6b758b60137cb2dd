-- SPDX-License-Identifier: Apache-2.0
-- Longest prefix matches of keys of up to 128 bits: Poptrie (Asai and Ohara, SIGCOMM
-- 2015). Prefixes are added to a binary trie of Lua tables, the RIB; build() makes of
-- it what snabb/native/lpm.c looks up in: nodes of 64 children each, and leaves.

local ffi = require("ffi")
local bit = require("bit")
local arguments = require("core.lib.arguments")
local poptrie_lookup = require("lib.poptrie_lookup")

local band, bor, lshift, rshift = bit.band, bit.bor, bit.lshift, bit.rshift

local STEP = 6 -- bits of the key that a node takes
local WIDTH = 2 ^ STEP
local MOST_BITS = 128
local TAG = 2 ^ 31 -- in the direct map: it's a leaf rather than a node

local Poptrie = {
  k = STEP,
  s = 18, -- bits of the key that the direct map takes, if there is one
  direct_pointing = false,
  leaf_t = ffi.typeof("uint16_t"),
  base_t = ffi.typeof("uint32_t"),
  node_t = ffi.typeof[[struct {
    uint64_t leafvec, vector; uint32_t base0, base1;
  } __attribute__((packed))]],
  num_leaves = 100, num_nodes = 10, -- there is room for
}
Poptrie.__index = Poptrie

local poptrie = {Poptrie = Poptrie}

local function array(ctype, n)
  return ffi.new(ffi.typeof("$[?]", ctype), n)
end

--- A table. `init` may have `leaf_t` (uint16_t, or uint32_t for values that large),
--- `direct_pointing` and `s` (faster, and 4 * 2^s bytes more), or the arrays `leaves`
--- and `nodes` with `num_leaves` and `num_nodes`, and `directmap`, of another table.
function poptrie.new(init)
  local problem = arguments.problem("poptrie.new()'s argument", "table", init)
  if problem then error(problem, 2) end
  local self = setmetatable({}, Poptrie)
  self.leaf_t = init.leaf_t or Poptrie.leaf_t
  assert(self.leaf_t == ffi.typeof("uint16_t") or self.leaf_t == ffi.typeof("uint32_t"),
    "leaves are uint16_t or uint32_t")
  self.s = init.s or Poptrie.s
  assert((not init.leaves) == (not init.nodes) and (init.nodes or not init.directmap),
    "leaves, nodes and directmap are given together")
  self.leaves = init.leaves or array(self.leaf_t, self.num_leaves)
  self.nodes = init.nodes or array(self.node_t, self.num_nodes)
  if init.nodes then
    self.num_leaves = assert(init.num_leaves, "num_leaves is missing")
    self.num_nodes = assert(init.num_nodes, "num_nodes is missing")
  end
  self.direct_pointing = init.directmap ~= nil or init.direct_pointing or false
  if self.direct_pointing then
    self.directmap = init.directmap or array(self.base_t, 2 ^ self.s)
  end
  self.asm_lookup32 = poptrie_lookup.generate(self, 32)
  self.asm_lookup64 = poptrie_lookup.generate(self, 64)
  self.asm_lookup128 = poptrie_lookup.generate(self, 128)
  return self
end

-- The key's bit, where 0 is the first byte's highest: "left" or "right".
local function side(key, i)
  return band(key[rshift(i, 3)], rshift(0x80, band(i, 7))) == 0 and "left" or "right"
end

--- Give the prefix, the first `length` bits at `key` (uint8_t *), a value.
function Poptrie:add(key, length, value)
  local most = 2 ^ (8 * ffi.sizeof(self.leaf_t)) - 1
  if self.direct_pointing then most = math.min(most, TAG - 1) end
  if not (value and value >= 0 and value <= most) then
    error(("a prefix can't have the value %s; it can have 0 to %d"):format(
      tostring(value), most), 2)
  end
  if not (length >= 0 and length <= MOST_BITS) then
    error(("a prefix can't have %s bits; it can have 0 to %d"):format(tostring(length),
      MOST_BITS), 2)
  end
  self.rib = self.rib or {}
  local node = self.rib
  for i = 0, length - 1 do
    local to = side(key, i)
    node[to] = node[to] or {}
    node = node[to]
  end
  node.value = value
end

--- The value of the longest prefix of the `length` bits at `key`, or nil, in the RIB or
--- below its node `root`; and the node at the key's end, if prefixes go on there.
function Poptrie:rib_lookup(key, length, root)
  local node, value = root or self.rib or {}, nil
  local i = 0
  while true do
    value = node.value or value
    if i == length then return value, (node.left or node.right) and node end
    node = node[side(key, i)]
    if not node then return value end
    i = i + 1
  end
end

-- Call f for each of 2^length keys of bits below the node; those of `key` come first.
local function map(f, node, key, length, value)
  value = node and node.value or value
  if length == 0 then
    f(key, value, node and (node.left or node.right) and node)
  elseif not node then
    for i = 0, 2 ^ length - 1 do f(key * 2 ^ length + i, value) end
  else
    map(f, node.left, key * 2, length - 1, value)
    map(f, node.right, key * 2 + 1, length - 1, value)
  end
end

--- Call f(key, value, node) for all keys of `length` bits below `root`, or the RIB: the
--- value is that of the longest prefix, the node one that more prefixes are below.
function Poptrie:rib_map(f, length, root)
  map(f, root or self.rib, 0, length)
end

local function grown(old, ctype, n)
  local new = array(ctype, 2 * n)
  ffi.copy(new, old, n * ffi.sizeof(ctype))
  return new, 2 * n
end

--- The index of a new leaf.
function Poptrie:allocate_leaf()
  if self.leaf_base >= self.num_leaves then
    self.leaves, self.num_leaves = grown(self.leaves, self.leaf_t, self.num_leaves)
  end
  self.leaf_base = self.leaf_base + 1
  return self.leaf_base - 1
end

--- The index of the first of `n` new nodes.
function Poptrie:allocate_node(n)
  n = n or 1
  assert(self.node_base + n <= TAG, "there are too many nodes")
  while self.node_base + n > self.num_nodes do
    self.nodes, self.num_nodes = grown(self.nodes, self.node_t, self.num_nodes)
  end
  self.node_base = self.node_base + n
  return self.node_base - n
end

-- Make the node of what is below `rib`; `default` is the value of what isn't.
local function build_node(self, rib, index, default)
  local values, children, count = {}, {}, 0
  self:rib_map(function (v, value, node)
    values[v], children[v] = value or default, node or nil
    if node then count = count + 1 end
  end, STEP, rib)
  local first_leaf, first_child = self.leaf_base, self:allocate_node(count)
  local leafvec, vector, last = 0ULL, 0ULL, nil
  for v = 0, WIDTH - 1 do
    local value = values[v] or 0
    if children[v] then
      vector = bor(vector, lshift(1ULL, v))
    elseif value ~= last then
      leafvec, last = bor(leafvec, lshift(1ULL, v)), value
      local leaf = self:allocate_leaf() -- which may move the array
      self.leaves[leaf] = value
    end
  end
  self.nodes[index] = {leafvec, vector, first_leaf, first_child}
  for v = 0, WIDTH - 1 do
    if children[v] then
      build_node(self, children[v], first_child, values[v])
      first_child = first_child + 1
    end
  end
end

--- Forget what build() made.
function Poptrie:clear_fib()
  self.leaf_base, self.node_base = 0, 0
  ffi.fill(self.leaves, self.num_leaves * ffi.sizeof(self.leaf_t))
  ffi.fill(self.nodes, self.num_nodes * ffi.sizeof(self.node_t))
end

--- Make the table that lookups use of all prefixes added. Until then, they are of what
--- was there at the last time.
function Poptrie:build()
  self:clear_fib()
  if not self.direct_pointing then
    build_node(self, self.rib, self:allocate_node())
    return
  end
  self:rib_map(function (i, value, node)
    if node then
      self.directmap[i] = self:allocate_node()
      build_node(self, node, self.directmap[i], value)
    else
      self.directmap[i] = TAG + (value or 0)
    end
  end, self.s, self.rib)
end

--- The value of the longest prefix of the 32 bits at `key` (uint8_t *); 0 if there is
--- none. And the same for 64 and 128 bits: that many must be there.
function Poptrie:lookup32(key)
  return self.asm_lookup32(self.leaves, self.nodes, key, self.directmap)
end

function Poptrie:lookup64(key)
  return self.asm_lookup64(self.leaves, self.nodes, key, self.directmap)
end

function Poptrie:lookup128(key)
  return self.asm_lookup128(self.leaves, self.nodes, key, self.directmap)
end

-- The six bits of the key from `at` on; those behind its `bits` are 0.
local function step_at(key, at, bits)
  local v = 0
  for i = at, at + STEP - 1 do
    v = 2 * v + (i < bits and side(key, i) == "right" and 1 or 0)
  end
  return v
end

-- How many of the bits 0 to v are set.
local function rank(set, v)
  local n = 0
  for i = 0, v do n = n + tonumber(band(rshift(set, i), 1ULL)) end
  return n
end

--- The same for a key of any size, up to 128 bits. It's slow, but reads of the key only
--- what it needs: of a pointer, whose size isn't known.
function Poptrie:lookup(key)
  local is_array = tostring(ffi.typeof(key)):find("[", 1, true)
  local bits = is_array and math.min(8 * ffi.sizeof(key), MOST_BITS) or MOST_BITS
  local index, at = 0, 0
  if self.direct_pointing then
    local v = 0
    for i = 0, self.s - 1 do
      v = 2 * v + (i < bits and side(key, i) == "right" and 1 or 0)
    end
    index, at = self.directmap[v], self.s
    if index >= TAG then return index - TAG end
  end
  local node, v = self.nodes[index], step_at(key, at, bits)
  while band(rshift(node.vector, v), 1ULL) ~= 0 do
    node = self.nodes[node.base1 + rank(node.vector, v) - 1]
    at = at + STEP
    v = step_at(key, at, bits)
  end
  return self.leaves[node.base0 + rank(node.leafvec, v) - 1]
end

return poptrie
