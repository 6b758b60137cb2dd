-- SPDX-License-Identifier: Apache-2.0
local bitmask = require("moongen.measure.bitmask")
local distribute = require("moongen.tables.distribute")
local ffi = require("ffi")
local lpm = require("moongen.tables.lpm")
local serialize = require("moongen.tasks.serialize")

ffi.cdef "struct lpm_spec_route { uint8_t output; uint8_t mac[6]; };"
ffi.cdef "struct lpm_spec_next { uint32_t next; };"

local TO = 30 -- where an IPv4 packet has its destination

-- Stands for a buffer with a packet to the address.
local function packet(a, b, c, d)
  local bytes = ffi.new("uint8_t[64]")
  bytes[TO], bytes[TO + 1], bytes[TO + 2], bytes[TO + 3] = a, b, c, d
  return {length = 60, getBytes = function () return bytes end}
end

local function array(...)
  local list = {...}
  list.size = #list
  list.array = ffi.new("struct packet *[?]", #list)
  return list
end

local function routes()
  local t = lpm.createLpm4Table(nil, nil, "struct lpm_spec_route")
  for output, route in ipairs{{0x0a000000, 8}, {0x0a010000, 16}, {0xc0a80101, 32}} do
    local entry = t:allocateEntry()
    entry[0].output = output
    t:addEntry(route[1], route[2], entry)
  end
  return t
end

local function all(n) return bitmask.createBitMask(n):setAll() end

describe("lpm", function ()
  it("finds the longest prefix", function ()
    local t, found = routes(), {}
    for i, address in ipairs{0x0a020304, 0x0a010203, 0xc0a80101, 0xc0a80102} do
      local entry = t:lookup(address)
      found[i] = entry and entry[0].output or "none"
    end
    assert.same({1, 2, 3, "none"}, found)
    t:addEntry(0, 0, t:allocateEntry())
    assert.equal(0, t:lookup(0xc0a80102)[0].output)
    assert.has_error(function () t:addEntry(0, 33, t:allocateEntry()) end)
  end)

  it("finds the longest of many, while they change, and in another task", function ()
    math.randomseed(11)
    local list, entry = {}, ffi.new("struct lpm_spec_route[1]")
    local function expected(address)
      for depth = 32, 0, -1 do
        local size = 2 ^ (32 - depth)
        local output = list[depth .. " " .. math.floor(address / size)]
        if output then return output end
      end
    end
    local t = lpm.createLpm4Table(nil, nil, "struct lpm_spec_route")
    for i = 1, 3000 do
      local depth = math.random(0, 32)
      local address = math.random(0, 3) * 2 ^ 30 + math.random(0, 255)
      entry[0].output = math.random(0, 255)
      list[depth .. " " .. math.floor(address / 2 ^ (32 - depth))] = entry[0].output
      t:addEntry(i % 2 == 0 and address or bit.tobit(address), depth, entry)
      if i % 1000 == 1 then t = serialize.decode(serialize.encode(t)) end
      address = math.random(0, 3) * 2 ^ 30 + math.random(0, 255)
      local found = t:lookup(address)
      assert.equal(expected(address), found and found[0].output or nil)
    end
  end)

  it("has room for more routes than different entries", function ()
    local t = lpm.createLpm4Table(nil, nil, "struct lpm_spec_next")
    local entry = t:allocateEntry()
    for i = 1, 70000 do
      entry[0].next = i % 100
      t:addEntry(i * 256, 24, entry)
    end
    assert.equal(69999 % 100, t:lookup(69999 * 256 + 7)[0].next)
    assert.has_error(function ()
      for i = 1, 70000 do
        entry[0].next = i
        t:addEntry(i * 256, 24, entry)
      end
    end, "lpm: routes have more than 65535 different entries")
  end)

  it("forgets entries that no route has any more", function ()
    local t = lpm.createLpm4Table(nil, nil, "struct lpm_spec_next")
    local entry = t:allocateEntry()
    for i = 1, 70000 do
      entry[0].next = i
      t:addEntry(0, 8, entry)
      if i % 10000 == 0 then assert.equal(i, t:lookup(1)[0].next) end
    end
    assert.equal(2, #t.entries)
  end)

  it("looks up a burst", function ()
    local t, hits = routes(), bitmask.createBitMask(3)
    local packets = array(packet(10, 1, 2, 3), packet(11, 0, 0, 1), packet(10, 0, 0, 1))
    packets[3].length = 33
    local entries = t:allocateEntryPtrs(3)
    t:lookupBurst(packets, all(3), hits, entries)
    assert.same({true, false, false}, {hits[1], hits[2], hits[3]})
    lpm.applyRoute(packets, hits, entries)
    assert.error_matches(function ()
      t:lookupBurst(packets, all(3), hits, t:allocateEntryPtrs(2))
    end, "there is room for 2 entries, but 3 packets")
  end)

  it("refuses to follow entries that aren't there", function ()
    local t = routes()
    local packets, entries = array(packet(11, 0, 0, 1)), t:allocateEntryPtrs(1)
    local to = distribute.createDistributor(nil, 0, 2)
    for _, f in ipairs{function () lpm.applyRoute(packets, all(1), entries) end,
                       function () to:send(packets, all(1), entries) end} do
      assert.error_matches(f, "packet 1 has no entry")
    end
    entries.array[0] = t:lookup(0x0a000001)
    assert.error_matches(function () lpm.applyRoute(packets, all(1), entries, 2) end,
      "entries have 7 bytes, so 6 from byte 2 on aren't there")
    assert.error_matches(function () to:send(packets, all(1), entries) end,
      "no queue is registered for the distributor's output 1")
  end)
end)
