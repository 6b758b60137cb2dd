-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local poptrie = require("lib.poptrie")

local function random_key()
  local key = ffi.new("uint8_t[16]")
  for i = 0, 15 do key[i] = math.random(0, math.random() < 0.5 and 3 or 255) end
  return key
end

local function bit_at(key, i)
  return bit.band(key[math.floor(i / 8)], bit.rshift(0x80, i % 8)) ~= 0
end

local function has_prefix(key, prefix, length)
  for i = 0, length - 1 do
    if bit_at(key, i) ~= bit_at(prefix, i) then return false end
  end
  return true
end

-- The value of the longest prefix, by looking at each; the last one added counts.
local function expected(prefixes, key)
  local longest, value = -1, 0
  for _, p in ipairs(prefixes) do
    if p.length >= longest and has_prefix(key, p.key, p.length) then
      longest, value = p.length, p.value
    end
  end
  return value
end

local function compare(init, bits, count)
  local table, prefixes = poptrie.new(init), {}
  local most = init.leaf_t == ffi.typeof("uint32_t") and 0x7fffffff or 0xffff
  for i = 1, count do
    local p = {key = random_key(), length = math.random(0, bits),
      value = math.random(0, most)}
    if i > 1 and i % 3 == 0 then ffi.copy(p.key, prefixes[i - 1].key, 16) end
    prefixes[i] = p
    table:add(p.key, p.length, p.value)
  end
  table:build()
  table:build() -- again, from nothing
  for i = 1, 2 * count do
    local key = random_key()
    if i <= count then
      ffi.copy(key, prefixes[i].key, math.random(1, 16))
    end
    local value = expected(prefixes, key)
    assert.equal(value, table:rib_lookup(key, 128) or 0)
    assert.equal(value, table:lookup(key))
    assert.equal(value, table["lookup" .. bits](table, key))
    local part = ffi.new("uint8_t[?]", bits / 8)
    ffi.copy(part, key, bits / 8)
    assert.equal(value, table:lookup(part))
    assert.equal(value, table:lookup(ffi.cast("uint8_t *", key)))
  end
end

describe("lib.poptrie", function ()
  it("finds what a look at each prefix finds #slow", function ()
    math.randomseed(2)
    for _, bits in ipairs{32, 64, 128} do
      for _, leaf in ipairs{"uint16_t", "uint32_t"} do
        for _, s in ipairs{false, 1, 7, 12} do
          for _, count in ipairs{0, 1, 5, 100} do
            compare({leaf_t = ffi.typeof(leaf), direct_pointing = s ~= false,
              s = s or nil}, bits, count)
          end
        end
      end
    end
  end)

  it("can be looked up in by another that has its arrays", function ()
    local one = poptrie.new{direct_pointing = true, s = 8}
    local key = random_key()
    one:add(key, 77, 12)
    one:build()
    local two = poptrie.new{leaves = one.leaves, num_leaves = one.num_leaves,
      nodes = one.nodes, num_nodes = one.num_nodes, directmap = one.directmap, s = 8}
    assert.equal(12, two:lookup128(key))
    assert.has_error(function () poptrie.new{leaves = one.leaves} end)
  end)

  it("keeps what it has until it is built again", function ()
    local table, key = poptrie.new{}, random_key()
    table:add(key, 20, 1)
    table:build()
    table:add(key, 20, 2)
    assert.equal(1, table:lookup32(key))
    table:build()
    assert.equal(2, table:lookup32(key))
  end)

  it("tells of nodes that more prefixes are below", function ()
    local table = poptrie.new{}
    local key = ffi.new("uint8_t[16]", {0xf0, 0x80})
    table:add(key, 4, 3)
    table:add(key, 9, 4)
    local value, node = table:rib_lookup(key, 4)
    assert.is_true(value == 3 and node.left ~= nil and node.right == nil)
    local rest = ffi.new("uint8_t[16]", {0x08}) -- the key's bits from the fifth on
    assert.equal(4, (table:rib_lookup(rest, 5, node)))
    assert.is_false(select(2, table:rib_lookup(key, 9)) or false)
    local seen = {}
    table:rib_map(function (k, v) seen[k] = v end, 5)
    assert.same({[30] = 3, [31] = 3}, seen)
  end)

  it("refuses values and prefixes that it can't have", function ()
    local table, key = poptrie.new{}, random_key()
    for _, wrong in ipairs{{8, 65536}, {8, -1}, {8}, {129, 1}, {-1, 1}} do
      assert.has_error(function () table:add(key, wrong[1], wrong[2]) end)
    end
    assert.has_error(function () poptrie.new{leaf_t = ffi.typeof("uint8_t")} end)
  end)
end)
