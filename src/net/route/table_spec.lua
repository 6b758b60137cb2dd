-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local route_table = require("net.route.table")

-- The address as it lies in headers.
local function word_of(address)
  return ffi.abi("le") and bit.bswap(address) or bit.tobit(address)
end

local function ip_text(address)
  return ("%d.%d.%d.%d"):format(math.floor(address / 2 ^ 24), address / 2 ^ 16 % 256,
    address / 256 % 256, address % 256)
end

local function prefix_text(route)
  local length = 32
  while length > 0 and route.mask % 2 ^ (33 - length) == 0 do length = length - 1 end
  return ip_text(route.address) .. "/" .. length
end

local function mask_of(length)
  return length == 0 and 0 or 2 ^ 32 - 2 ^ (32 - length)
end

local function put(routes, address, length, port, gateway)
  return routes:put{address = address, mask = mask_of(length), gateway = gateway or 0,
    port = port}
end

local function remove(routes, address, length)
  routes:remove(routes:place_of(address, mask_of(length)))
end

-- The port for an address, from 0; -2: there is no route.
local function find(routes, address)
  return routes:finder()(word_of(address)) - 1
end

-- The longest prefix of a list {address, length, port}, the slow way.
local function longest(list, address)
  local best, port = -1, -2
  for _, r in ipairs(list) do
    local size = 2 ^ (32 - r[2])
    if math.floor(address / size) * size == r[1] and r[2] > best then
      best, port = r[2], r[3]
    end
  end
  return port
end

local function random_route()
  local mask = mask_of(math.random(0, 32))
  local address = math.random(0, 15) * 2 ^ 28 + math.random(0, 7) * 2 ^ 8
  address = bit.band(address, mask)
  return {address = address % 2 ^ 32, mask = mask, gateway = math.random(0, 3) * 2 ^ 30,
    port = math.random(0, 9), label = math.random(4) == 1 and "x" or nil}
end

-- What the kernel notes of the memory at that address (proc(5), smaps), as a set.
local function memory_flags(address)
  local within, flags = false, {}
  for line in io.lines("/proc/self/smaps") do
    local from, to = line:match("^(%x+)-(%x+) ")
    if from then
      within = tonumber(from, 16) <= address and address < tonumber(to, 16)
    elseif within and line:match("^VmFlags:") then
      for flag in line:gmatch(" (%l%l)") do flags[flag] = true end
    end
  end
  return flags
end

describe("A table of routes", function ()
  -- The first touch of one may take milliseconds.
  it("isn't in huge pages, so that packets needn't wait for them", function ()
    local routes = route_table.new()
    for i = 1, 140000 do put(routes, i * 256, 24, 0) end
    routes:lay_out()
    for _, array in ipairs{"routes", "buckets", "ranges"} do
      local address = tonumber(ffi.cast("uintptr_t", routes.c[array]))
      local flags = memory_flags(address)
      assert.is_true(flags.wr)
      assert.is_nil(flags.hg)
    end
  end)

  it("finds, replaces and removes as a Lua table does #slow", function ()
    math.randomseed(1)
    local routes, model, n = route_table.new(), {}, 0
    for _ = 1, 20000 do
      local route = random_route()
      local key = route.address .. "/" .. route.mask
      local place = routes:place_of(route.address, route.mask)
      assert.equal(model[key] and model[key].place, place)
      if math.random(3) > 1 then
        n = n + (place and 0 or 1)
        routes:put(route)
        route.place = routes:place_of(route.address, route.mask)
        assert.same(route, routes:at(route.place))
        model[key] = route
      elseif place then
        routes:remove(place)
        model[key], n = nil, n - 1
        assert.is_nil(routes:at(place))
      end
      assert.equal(n, routes:count())
    end
    local found = 0
    for place = 1, routes:last() do found = found + (routes:at(place) and 1 or 0) end
    assert.equal(n, found)
    for _, route in pairs(model) do assert.same(route, routes:at(route.place)) end
  end)

  it("takes the first free place", function ()
    local routes = route_table.new()
    for i = 1, 300 do put(routes, i * 2 ^ 8, 24, i) end
    routes:remove(200)
    routes:remove(7)
    put(routes, 0, 0, 0)
    assert.equal(7, routes:place_of(0, 0))
    put(routes, 1, 32, 0)
    assert.equal(200, routes:place_of(1, 2 ^ 32 - 1))
    assert.equal(300, routes:last())
    assert.is_nil(routes:at(301))
  end)

  it("knows masks with holes", function ()
    local routes = route_table.new()
    assert.is_false(routes:odd())
    routes:put{address = 1, mask = 0xff0000ff, gateway = 0, port = 0}
    assert.is_true(routes:odd())
    put(routes, 0, 0, 3)
    routes:lay_out()
    assert.equal(3, find(routes, 1))
    routes:remove(1)
    assert.is_false(routes:odd())
  end)

  it("looks up the longest prefix", function ()
    local routes = route_table.new()
    put(routes, 0x0a000000, 8, 1)
    put(routes, 0x0a010000, 16, 2)
    put(routes, 0x0a010200, 24, 3)
    put(routes, 0x0a0102ff, 32, 4, 0x01020304)
    assert.same({1, 2, 3, 3, 4, 2, -2}, {find(routes, 0x0aff0001),
      find(routes, 0x0a0101ff), find(routes, 0x0a010200), find(routes, 0x0a0102fe),
      find(routes, 0x0a0102ff), find(routes, 0x0a010300), find(routes, 0x0b000000)})
    assert.same({5, word_of(0x01020304)},
      {routes:finder()(word_of(0x0a0102ff))})
    local finder = routes:finder()
    remove(routes, 0x0a010200, 24)
    put(routes, 0, 0, 9)
    assert.equal(3 + 1, (finder(word_of(0x0a010200)))) -- not laid out yet
    assert.same({2, 4, 9}, {find(routes, 0x0a010200), find(routes, 0x0a0102ff),
      find(routes, 0xffffffff)})
  end)

  it("looks up what a search through all finds #slow", function ()
    math.randomseed(7)
    local routes, list, at = route_table.new(), {}, {}
    local wrong
    local function compare(a)
      if longest(list, a) ~= find(routes, a) then wrong = a end
    end
    for round = 1, 400 do
      local length = math.random(0, 9) == 0 and math.random(0, 6) or math.random(7, 32)
      local size = 2 ^ (32 - length)
      -- Few first bytes, so that prefixes lie within each other.
      local address = math.random(0, 2) * 2 ^ 24 + math.random(0, 3) * 2 ^ 16
        + math.random(0, 65535)
      address = math.floor(address / size) * size
      local key = address .. "/" .. length
      if at[key] and math.random() < 0.5 then
        remove(routes, address, length)
        for i, r in ipairs(list) do
          if r == at[key] then table.remove(list, i) break end
        end
        at[key] = nil
      else
        local port = math.random(1, 5)
        put(routes, address, length, port)
        if not at[key] then
          at[key] = {address, length}
          table.insert(list, at[key])
        end
        at[key][3] = port
      end
      if round % 20 == 0 then
        routes:lay_out()
        for _ = 1, 300 do
          compare(math.random(0, 3) * 2 ^ 24 + math.random(0, 4) * 2 ^ 16
            + math.random(0, 65535))
        end
        for _, r in ipairs(list) do
          compare(r[1])
          compare(r[1] + 2 ^ (32 - r[2]) - 1)
        end
        assert.is_nil(wrong)
      end
    end
  end)

  it("lays out all prefixes of a chunk, and tidies up behind #slow", function ()
    local routes, most = route_table.new(), 2 ^ 16
    for round = 1, 6 do
      for i = 0, most - 1 do put(routes, i, 32, i % (round + 1)) end
      for i = 0, most / 2 - 1 do put(routes, i * 2, 31, 100) end
      routes:lay_out()
      for i = 0, most - 1, 7 do assert.equal(i % (round + 1), find(routes, i)) end
      for i = 0, most - 1 do remove(routes, i, 32) end
      routes:lay_out()
      for i = 0, most - 1, 7 do assert.equal(100, find(routes, i)) end
    end
    assert.is_true(routes.c.used_ranges < 4 * most)
  end)

  it("shows itself, however many routes it has", function ()
    local routes, lines = route_table.new(), {}
    local function add(address, mask, gateway, port, line)
      routes:put{address = address, mask = mask, gateway = gateway, port = port}
      lines[#lines + 1] = line .. "\n"
    end
    assert.equal("", routes:text())
    add(0x01020000, mask_of(20), 0, 0, "1.2.0.0/20\t\t-\t\t0")
    add(0x6fde6fde, mask_of(32), 0, 12, "111.222.111.222/32\t-\t\t12")
    add(0, 0, 0x6f6f6f6f, 65535, "0.0.0.0/0\t\t111.111.111.111\t65535")
    add(0x01000000, 0xff0000ff, 0x02020202, 1, "1.0.0.0/255.0.0.255\t2.2.2.2\t\t1")
    for i = 0, 2999 do
      add(2 ^ 31 + i * 256, mask_of(24), 0, i % 4, ip_text(2 ^ 31 + i * 256)
        .. "/24\t" .. (#ip_text(i * 256 + 2 ^ 31) + 4 < 17 and "\t" or "")
        .. "-\t\t" .. i % 4)
    end
    routes:remove(2)
    table.remove(lines, 2)
    assert.equal(table.concat(lines), routes:text())
    routes:put{address = 5, mask = mask_of(32), gateway = 0, port = 1, label = "x"}
    assert.is_nil(routes:text()) -- C knows no labels
  end)

  it("says that there are too many ways out", function ()
    local routes = route_table.new()
    for i = 1, 65535 do put(routes, i, 32, 0, i) end
    local text = "1.0.0.0 1.0.0.0 0, 1.0.0.1 1.0.0.1 0"
    local problem = "more than 65535 different pairs of gateway and port"
    assert.equal(problem, put(routes, 0, 32, 0, 65536))
    assert.equal(problem, routes:read(text, route_table.reading(text)))
    assert.is_nil(put(routes, 0, 32, 0, 65535))
    assert.equal(65536, routes:count())
  end)

  it("has room for as many ways out at any time, whatever there was before", function ()
    for _, laid_out in ipairs{false, true} do
      local routes = route_table.new()
      for i = 0, 2 do put(routes, i * 2 ^ 24, 8 + i * 8, i) end
      if laid_out then routes:lay_out() end
      for i = 1, 140000 do
        assert.is_nil(put(routes, 0, 8, i))
        if i % 7 == 0 then
          assert.is_nil(put(routes, 2 ^ 31 + i, 32, i, 1))
          remove(routes, 2 ^ 31 + i, 32)
        end
      end
      routes:lay_out()
      local found = {}
      for i = 0, 3 do found[i + 1] = find(routes, i * 2 ^ 24 + 1) end
      assert.same({140000, 1, 2, -2}, found)
      assert.equal(-2, find(routes, 2 ^ 31 + 7))
      for i = 3, 65534 do assert.is_nil(put(routes, 2 ^ 30 + i, 32, i, 7)) end
      assert.matches("more than 65535", put(routes, 1, 32, 8, 1))
    end
  end)

  it("takes addresses with bits behind the prefix", function ()
    local routes = route_table.new()
    put(routes, 2 ^ 32 - 1, 8, 5)
    assert.is_nil(put(routes, 255 * 2 ^ 24 + 3, 8, 6))
    assert.equal(1, routes:count())
    assert.equal(255 * 2 ^ 24, routes:at(1).address)
    assert.equal(6, find(routes, 255 * 2 ^ 24 + 65536))
  end)
end)

describe("Routes in a text", function ()
  -- What is read of it: the routes, and the text that is left.
  local function read(text, ports, replace)
    local routes, list = route_table.new(), {}
    local reading = route_table.reading(text, ports, replace)
    routes:read(text, reading)
    for place = 1, routes:last() do
      local r = routes:at(place)
      list[place] = ("%s %s %d"):format(prefix_text(r),
        ip_text(r.gateway), r.port)
    end
    return table.concat(list, ", "), text:sub(reading.at + 1), reading
  end

  it("are read as they are mostly written", function ()
    local text, rest, reading =
      read(" 10.1.2.3/8 0,\n1.2.3.4 - 1 ,0.0.0.0/0\t9.8.7.6 12")
    assert.equal("10.0.0.0/8 0.0.0.0 0, 1.2.3.4/32 0.0.0.0 1, 0.0.0.0/0 9.8.7.6 12",
      text)
    assert.equal("", rest)
    assert.same({3, 0, 12}, {reading.number, reading.again, reading.most_port})
  end)

  it("are read up to what is written otherwise", function ()
    for _, odd in ipairs{"10/8 0", "gw 0", "1.2.3.4/33 0", "1.2.3.4/8", "1.2.3.256 0",
      "", "1.2.3.4/8 0 /* */", "1.2.3.4/8 0x1", "1.2.3.4/8 -1", "1.2.3.4/8 3", " ",
      "1.2.3.4/8 1.2.3.4", "1.2.3.4/255.0.0.0 0", "1.2.3.4/8 -0", "'1.2.3.4/8 0'",
      "1.2.3.4/8 1.2.3 0", "1.2.3.4/8 65536", "1.2.3.4/8 02",
      "1.2.3.4/8 0 0", "1.2.3.4./8 0"} do
      local text, rest = read("1.1.1.1 2," .. odd, 3)
      assert.same({"1.1.1.1/32 0.0.0.0 2", odd}, {text, rest})
    end
  end)

  it("are no more than the text, wherever that ends", function ()
    local text = "10.1.2.3/8 1.2.3.4 0,1.2.3.4 1"
    for n = 0, #text do
      local routes = route_table.new()
      local reading = route_table.reading(text:sub(1, n))
      routes:read(text, reading)
      assert.is_true(reading.at <= n)
    end
  end)

  it("count once for each prefix: the first, or the last", function ()
    local text = "1.0.0.0/8 0, 2.0.0.0/8 1, 1.0.0.0/8 2"
    local first, _, reading = read(text)
    assert.same({"1.0.0.0/8 0.0.0.0 0, 2.0.0.0/8 0.0.0.0 1", 1}, {first, reading.again})
    assert.equal("1.0.0.0/8 0.0.0.0 2, 2.0.0.0/8 0.0.0.0 1", (read(text, nil, true)))
  end)
end)
