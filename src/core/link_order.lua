-- SPDX-License-Identifier: Apache-2.0
-- The order in which Snabb announces links to apps, and numbers `input` and `output`:
-- pairs() goes through a configuration's links, in the order of the hash table of
-- Snabb's LuaJIT (lj_str.c and lj_tab.c of 2.1.0-beta3). It is the same in each run, so
-- programs come to rely on it. Where it isn't on, links are sorted by their texts.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local bit = require("bit")

local band, bxor, rol, tobit = bit.band, bit.bxor, bit.rol, bit.tobit
local floor = math.floor

local link_order = {}

local LEAST = 2 -- places of a table that isn't empty

local is_on = false

-- {[TEXT of a link] = its number among those that were added}; how many there are, and
-- the most that are kept. (The engine gets copies of configurations: their links can
-- only be known by their texts.)
local came, ncame, MOST = {}, 0, 65536

--- Number links as Snabb does from now on: its programs run.
function link_order.like_snabb() is_on = true end

--- A link was added to the `links` of a configuration.
function link_order.add(links, spec)
  if not is_on or links[spec] then return end
  if ncame >= MOST then came, ncame = {}, 0 end
  ncame = ncame + 1
  came[spec] = ncame
end

local function word(text, at)
  local a, b, c, d = text:byte(at + 1, at + 4)
  return tobit(a + b * 2 ^ 8 + c * 2 ^ 16 + d * 2 ^ 24)
end

-- Bob Jenkins's lookup3 over a few words of the text, of four bytes or more.
local function hash(text)
  local n = #text
  local a, b = word(text, 0), word(text, floor(n / 2) - 2)
  local h = bxor(bxor(n, word(text, n - 4)), b)
  h = tobit(h - rol(b, 14))
  b = tobit(b + word(text, floor(n / 4) - 1))
  a = bxor(a, h)
  a = tobit(a - rol(h, 11))
  b = bxor(b, a)
  b = tobit(b - rol(a, 25))
  h = bxor(h, b)
  return (tobit(h - rol(b, 16)))
end

-- A table of `size` places, from 0 on: nodes {key =, main =, next =}. Free ones are
-- looked for downwards from `free`.
local function new_table(size) return {size = size, free = size, nodes = {}} end

-- The next free one, or nil.
local function take_free(t)
  while t.free > 0 do
    t.free = t.free - 1
    if not t.nodes[t.free] then return t.free end
  end
end

-- Put the key in; false if there is no room.
local function put(t, key, hashed)
  local main = band(hashed, t.size - 1)
  local there = t.nodes[main]
  local node = {key = key, hashed = hashed}
  if not there then
    t.nodes[main] = node
    return true
  end
  local free = take_free(t)
  if not free then return false end
  local its_main = band(there.hashed, t.size - 1)
  if its_main == main then
    node.next, there.next = there.next, free
    t.nodes[free] = node
  else -- it gives way
    local before = its_main
    while t.nodes[before].next ~= main do before = t.nodes[before].next end
    t.nodes[before].next = free
    t.nodes[free], t.nodes[main] = there, node
  end
  return true
end

-- A table of twice the size or more, with what is in `t`.
local function larger(t)
  local count = 1
  for i = 0, t.size - 1 do count = count + (t.nodes[i] and 1 or 0) end
  local size = LEAST
  while size < count do size = 2 * size end
  local result = new_table(size)
  for i = 0, t.size - 1 do
    local node = t.nodes[i]
    if node then put(result, node.key, node.hashed) end
  end
  return result
end

-- The keys, of four bytes or more, in the order in which pairs() gives them in Snabb if
-- they were put into a table in that of the list.
local function traversal(keys)
  local t = new_table(0)
  for _, key in ipairs(keys) do
    local hashed = hash(key)
    if t.size == 0 or not put(t, key, hashed) then
      t = larger(t)
      put(t, key, hashed)
    end
  end
  local list = {}
  for i = 0, t.size - 1 do
    if t.nodes[i] then list[#list + 1] = t.nodes[i].key end
  end
  return list
end

--- Those of the `links` of a configuration that are in the array `specs`, which is
--- sorted, in the order in which apps are to get them.
function link_order.of(links, specs)
  if not is_on or #specs < 2 then return specs end
  local keys, list = {}, {}
  for spec in pairs(links) do keys[#keys + 1] = spec end
  table.sort(keys, function (a, b)
    local ca, cb = came[a] or 0, came[b] or 0
    if ca ~= cb then return ca < cb end
    return a < b
  end)
  local wanted = {}
  for _, spec in ipairs(specs) do wanted[spec] = true end
  for _, spec in ipairs(traversal(keys)) do
    if wanted[spec] then
      list[#list + 1] = spec
      wanted[spec] = nil
    end
  end
  for _, spec in ipairs(specs) do -- that aren't among `links`
    if wanted[spec] then list[#list + 1] = spec end
  end
  return list
end

return link_order
