-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local ctable = require("lib.ctable")
local layout = require("lib.ctable.layout")

local key_t = ffi.typeof("struct { uint32_t a; uint16_t b; } __attribute__((packed))")
local value_t = ffi.typeof("uint64_t")

local function new(options)
  local params = {key_type = key_t, value_type = value_t}
  for name, value in pairs(options or {}) do params[name] = value end
  return ctable.new(params)
end

local function key_of(n) return key_t(n, n % 7) end

-- What lib.stream's have, in memory.
local function memory_stream()
  local bytes = ""
  local stream = {}
  function stream:write_struct(ctype, p) self:write_array(ctype, p, 1) end
  function stream:write_array(ctype, p, n)
    bytes = bytes .. ffi.string(p, ffi.sizeof(ctype) * n)
  end
  function stream:read_struct(_, ctype)
    local s = ctype()
    self:read_array(s, ctype, 1)
    return s
  end
  function stream:read_array(p, ctype, n)
    local size = ffi.sizeof(ctype) * n
    assert(size <= #bytes, "the stream has ended")
    ffi.copy(p, bytes, size)
    bytes = bytes:sub(size + 1)
  end
  function stream:text() return bytes end
  return stream
end

-- Compares a table with a Lua table of key numbers and values.
local function compare(table, model, up_to)
  table:selfcheck()
  local n = 0
  for _ in pairs(model) do n = n + 1 end
  assert.equal(n, table.occupancy)
  for i = 1, up_to do
    local entry = table:lookup_ptr(key_of(i))
    assert.equal(model[i], entry and tonumber(entry.value))
  end
  for entry in table:iterate() do
    assert.equal(model[entry.key.a], tonumber(entry.value))
    n = n - 1
  end
  assert.equal(0, n)
end

local function work(options, steps, keys)
  local table, model = new(options), {}
  for step = 1, steps do
    local i = math.random(keys)
    if math.random() < 0.6 then
      table:add(key_of(i), step, true)
      model[i] = step
    else
      assert.equal(model[i] ~= nil, table:remove(key_of(i), true))
      model[i] = nil
    end
  end
  compare(table, model, keys)
  return table, model
end

describe("lib.ctable", function ()
  it("does what a Lua table does, growing and shrinking #slow", function ()
    math.randomseed(3)
    for _, rate in ipairs{0.3, 0.9, 1} do
      for _ = 1, 10 do
        work({max_occupancy_rate = rate, min_occupancy_rate = rate / 4,
          initial_size = math.random(0, 9)}, math.random(400), 60)
      end
    end
    work({}, 60000, 20000)
  end)

  it("looks up many keys at once as it does one by one #slow", function ()
    local table, model = work({}, 3000, 1000)
    for _, width in ipairs{1, 3, 4, 32, 63, 64, 65, 200} do
      local streamer = table:make_lookup_streamer(width)
      for _ = 1, 20 do
        local keys = {}
        for i = 0, width - 1 do
          keys[i] = math.random(1000)
          streamer.entries[i].key = key_of(keys[i])
        end
        streamer:stream()
        for i = 0, width - 1 do
          assert.equal(model[keys[i]] ~= nil, streamer:is_found(i))
          assert.not_equal(streamer:is_empty(i), streamer:is_found(i))
          if model[keys[i]] then
            assert.equal(model[keys[i]], tonumber(streamer.entries[i].value))
          end
        end
      end
    end
    assert.has_error(function () table:make_lookup_streamer(0) end)
    assert.has_error(function () table:make_lookup_streamer(4):is_empty(4) end)
  end)

  it("takes the hash function of programs before v2018", function ()
    local t = new{hash_fn = function () return 7 end}
    for n = 1, 100 do t:add(key_of(n), n) end
    assert.equal(42, tonumber(t:lookup_ptr(key_of(42)).value))
    t:selfcheck()
    assert.error_matches(function () new{hash_fn = 7} end,
      "ctable.new: hash_fn is a function of a key, not 7")
  end)

  it("keeps a streamer good when the table gets other memory", function ()
    local table = new()
    local streamer = table:make_lookup_streamer(2)
    for i = 1, 1000 do table:add(key_of(i), i) end
    collectgarbage()
    streamer.entries[0].key, streamer.entries[1].key = key_of(1000), key_of(1001)
    streamer:stream()
    assert.equal(1000, tonumber(streamer.entries[0].value))
    assert.is_true(streamer:is_empty(1))
  end)

  -- 200,000 hashes of 31 bits: some nine keys share one with another.
  it("tells keys of the same hash apart #slow", function ()
    local table = new{initial_size = 300000}
    for i = 1, 200000 do table:add(key_of(i), i) end
    table:selfcheck()
    local wrong = {}
    for i = 1, 200000 do
      if tonumber(table:lookup_ptr(key_of(i)).value) ~= i then wrong[#wrong + 1] = i end
    end
    assert.same({}, wrong)
    for i = 1, 200000, 2 do table:remove(key_of(i)) end
    table:selfcheck()
    for i = 1, 200000 do
      local found = table:lookup_ptr(key_of(i)) ~= nil
      if found ~= (i % 2 == 0) then wrong[#wrong + 1] = i end
    end
    assert.same({}, wrong)
  end)

  it("knows which bytes of a key are padding", function ()
    for fields, offsets in pairs{
      ["uint32_t address; uint16_t port;"] = {6, 7},
      ["uint16_t a; uint8_t b;"] = {3}, ["uint8_t a; uint32_t b;"] = {1, 2, 3},
      ["struct { uint64_t a; uint8_t b; } c;"] = {9, 10, 11, 12, 13, 14, 15},
      ["struct { uint16_t a; uint8_t b; } c[2];"] = {3, 7},
      ["double a; int32_t b;"] = {12, 13, 14, 15},
      ["uint32_t a; uint16_t b; uint16_t c;"] = {},
      ["uint32_t a:20; uint32_t b:12;"] = {}, ["void *a; double b;"] = {},
      ["union { uint8_t a[4]; uint32_t b; }; float c;"] = {},
      ["uint8_t a; struct { uint8_t b; uint16_t c; } __attribute__((packed)) d[2];"]
        = {},
    } do
      local ctype = ffi.typeof("struct {" .. fields .. "}")
      assert.same(offsets, layout.padding(ctype), fields)
    end
    assert.same({}, layout.padding(ffi.typeof("uint8_t[5]")))
  end)

  it("takes keys that are equal field by field for equal", function ()
    local padded_t = ffi.typeof("struct { uint32_t address; uint16_t port; }")
    local function key(address, port, rest) -- `rest`: what the padding happens to be
      local k = padded_t()
      ffi.fill(k, ffi.sizeof(padded_t), rest)
      k.address, k.port = address, port
      return k
    end
    local table = ctable.new{key_type = padded_t, value_type = ffi.typeof("uint32_t")}
    for i = 1, 1000 do table:add(key(i, i % 7, i % 256), i) end
    table:selfcheck()
    assert.has_error(function () table:add(key(5, 5, 0xaa), 1) end)
    for i = 1, 1000 do
      assert.equal(i, tonumber(table:lookup_ptr(key(i, i % 7, 255)).value))
      assert.is_nil(table:lookup_ptr(key(i, i % 7 + 1, i % 256)))
    end
    local streamer = table:make_lookup_streamer(8)
    for i = 0, 7 do streamer.entries[i].key = key(i, i % 7, 0x5a) end
    streamer:stream()
    assert.is_true(streamer:is_empty(0))
    for i = 1, 7 do assert.equal(i, tonumber(streamer.entries[i].value)) end
    assert.is_true(table:remove(key(9, 2, 1), true))
    assert.is_nil(table:lookup_ptr(key(9, 2, 9)))
  end)

  it("takes keys that are numbers", function ()
    for name in ("uint8_t int8_t uint16_t int16_t uint32_t int32_t uint64_t int64_t "
      .. "double float"):gmatch("%S+") do
      local table = ctable.new{key_type = ffi.typeof(name),
        value_type = ffi.typeof("int[3]")}
      local first = name:match("^u") and 0 or -60
      for i = first, 60 do table:add(ffi.cast(name, i), {i, i, i}) end
      table:selfcheck()
      local streamer = table:make_lookup_streamer(121)
      for i = first, 60 do
        assert.equal(i, table:lookup_ptr(ffi.cast(name, i)).value[2])
        streamer.entries[i - first].key = ffi.cast(name, i)
      end
      streamer:stream()
      for i = first, 60 do assert.equal(i, streamer.entries[i - first].value[0]) end
      assert.is_nil(table:lookup_ptr(ffi.cast(name, 100)))
    end
  end)

  it("has Snabb's entries and sizes", function ()
    local table = new{initial_size = 100}
    assert.equal(32, ffi.sizeof(table.entry_type))
    assert.equal(0, ffi.offsetof(table.entry_type, "hash"))
    assert.equal(4, ffi.offsetof(table.entry_type, "key"))
    assert.equal(4 + ffi.sizeof(key_t), ffi.offsetof(table.entry_type, "value"))
    assert.equal(200 * 32, table:get_backing_size())
    assert.equal((100 + 60) * 32,
      new{initial_size = 100, max_displacement_limit = 30}:get_backing_size())
    assert.equal(8, ffi.sizeof(ctable.new{key_type = ffi.typeof("uint16_t"),
      value_type = ffi.typeof("uint16_t")}.entry_type))
    assert.equal(90, table.occupancy_hi)
    assert.equal(table.entry_type, new().entry_type)
  end)

  it("reads no keys beyond their end, and takes no numbers for structs", function ()
    for _, of in ipairs{"struct { uint32_t index; }", "uint8_t[4]",
                          "struct { uint8_t a; uint16_t b; }"} do
      local table = ctable.new{key_type = ffi.typeof(of),
        value_type = ffi.typeof("int")}
      for _, wrong in ipairs{1, "abc", true, {}} do
        for _, method in ipairs{"add", "lookup_ptr", "hash_fn"} do
          local ok, err = pcall(method == "hash_fn" and table.hash_fn
            or function (key) return table[method](table, key, 1) end, wrong)
          assert.is_false(ok)
          assert.matches("^a key of this hash table is C data of 4 bytes", err)
        end
      end
      table:add("abcd", 7)
      assert.equal(7, table:lookup_ptr("abcd").value)
      assert.equal(1, table.occupancy)
    end
  end)

  it("refuses to add twice, to update or remove what isn't there", function ()
    local table = new()
    table:add(key_of(1), 10)
    assert.has_error(function () table:add(key_of(1), 11) end,
      "the key is already present in the hash table")
    assert.has_error(function () table:update(key_of(2), 11) end,
      "the key isn't in the hash table")
    assert.has_error(function () table:remove(key_of(2)) end,
      "the key isn't in the hash table")
    assert.is_false(table:remove(key_of(2), true))
    assert.equal(12, tonumber(table:update(key_of(1), 12).value))
    assert.equal(1, table.occupancy)
    assert.has_error(function () table:remove_ptr(table.entries - 1) end)
    assert.has_error(function () table:remove_ptr(table.entry_type()) end)
    assert.has_error(function () table:resize(0) end)
    assert.has_error(function () new{size = 3} end)
    table:selfcheck()
  end)

  it("stays as it was when an entry would be displaced too far", function ()
    local table = new{initial_size = 1000, max_occupancy_rate = 1,
      max_displacement_limit = 3}
    local added = 0
    local ok, message = true
    while ok do
      ok, message = pcall(table.add, table, key_of(added + 1), added + 1)
      if ok then added = added + 1 end
    end
    assert.match("max_displacement_limit", message)
    assert.is_true(added > 100 and table.max_displacement <= 3)
    table:selfcheck()
    local seed = ffi.string(table.hash_seed, 16)
    assert.has_error(function () table:resize(table.occupancy) end)
    assert.equal(seed, ffi.string(table.hash_seed, 16))
    for i = 1, added do
      assert.equal(i, tonumber(table:lookup_ptr(key_of(i)).value))
    end
  end)

  it("walks on from any place", function ()
    local table = work({}, 500, 200)
    local place, n = 0, 0
    repeat
      local entry
      place, entry = table:next_entry(place, place + 1)
      if entry then n = n + 1 place = place + 1 end
    until place >= table.size + table.max_displacement
    assert.equal(table.occupancy, n)
    local first, found = table:next_entry(0)
    assert.equal(found.hash, table.entries[first].hash)
    assert.same({0}, {table:next_entry(table.size + table.max_displacement)})
  end)

  it("copies what it finds", function ()
    local table = new()
    table:add(key_of(5), 50)
    local entry = table.entry_type()
    assert.is_true(table:lookup_and_copy(key_of(5), entry))
    assert.equal(50, tonumber(entry.value))
    assert.is_false(table:lookup_and_copy(key_of(6), entry))
  end)

  it("loads what it saved", function ()
    local table, model = work({max_occupancy_rate = 0.5}, 1000, 300)
    local stream = memory_stream()
    table:save(stream)
    assert.equal(48 + 32 * (table.size + table.max_displacement), #stream:text())
    assert.equal(table.size, ffi.cast("uint32_t *", stream:text())[0])
    local again = ctable.load(stream, {key_type = key_t, value_type = value_t})
    compare(again, model, 300)
    assert.equal(0.5, again.max_occupancy_rate)
    again:add(key_of(1000), 1)
    again:selfcheck()
  end)

  it("refuses to load what is no table", function ()
    local stream = memory_stream()
    stream:write_array(ffi.typeof("char"), ("\255"):rep(48), 48)
    assert.error_matches(function ()
      ctable.load(stream, {key_type = key_t, value_type = value_t})
    end, "no saved hash table: its max_occupancy_rate is no number")
  end)

  it("gives its memory back when it is collected #slow", function ()
    local function resident()
      local file = io.open("/proc/self/statm")
      local _, pages = file:read("*n", "*n")
      file:close()
      return pages * 4096
    end
    collectgarbage()
    local before = resident()
    for round = 1, 200 do -- 12.8 MB each
      local table = new{initial_size = 200000}
      for i = 1, 20 do table:add(key_of(i), round) end
      assert.equal(round, tonumber(table:lookup_ptr(key_of(7)).value))
      if round % 5 == 0 then collectgarbage() end
    end
    collectgarbage()
    assert.is_true(resident() - before < 100e6)
  end)
end)
