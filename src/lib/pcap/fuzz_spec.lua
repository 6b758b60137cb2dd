-- SPDX-License-Identifier: Apache-2.0
-- Damaged savefiles: the reader returns bytes of the file, at offsets that grow, or
-- raises a failure; never anything else.

local ffi = require("ffi")
local failure = require("core.failure")
local reader = require("lib.pcap.reader")
local testing = require("testing.savefiles")

local FILES = 100000

local INTERESTING = {0, 1, 4, 7, 8, 11, 12, 16, 28, 32, 0x7f, 0x80, 0xff, 0xffff,
                     0x10000, 0x40000, 0x40001, 0x1000000, 0x7fffffff, 0x80000000,
                     0xfffffffc, 0xffffffff}

local function seeds()
  local files = {}
  for _, order in ipairs{"little", "big"} do
    local b = testing.order(order)
    for _, magic in ipairs{0xa1b2c3d4, 0xa1b23c4d} do
      files[#files + 1] = b:pcap_header{magic = magic} .. b:record("first packet")
        .. b:record("2nd", {original = 60}) .. b:record(("third"):rep(20))
    end
    local options = b:option(2, "eth0") .. b:option(9, "\9") .. b:option(14, b:u64(5))
      .. b:option(0, "")
    files[#files + 1] = b:section{options = b:option(4, "fuzz")} .. b:interface()
      .. b:interface{options = options} .. b:enhanced("first packet")
      .. b:block(5, "statistics") .. b:simple("simple") .. b:obsolete("old one")
      .. b:enhanced(("last"):rep(20), {interface = 1, options = b:option(1, "hi")})
    files[#files + 1] = b:section() .. b:interface() .. b:enhanced("one")
      .. b:section() .. b:interface{options = options} .. b:enhanced("two")
  end
  return files
end

local function splice(bytes, at, removed, inserted)
  return bytes:sub(1, at - 1) .. inserted .. bytes:sub(at + removed)
end

local mutations = {
  function(bytes, at) return splice(bytes, at, 1, string.char(math.random(0, 255))) end,
  function(bytes, at) return splice(bytes, at, math.random(1, 8), "") end,
  function(bytes, at) return splice(bytes, at, 0, bytes:sub(at, at + 12)) end,
  function(bytes, at) return bytes:sub(1, at) end,
  function(bytes, at)
    local order = testing.order(({"little", "big"})[math.random(2)])
    local value = INTERESTING[math.random(#INTERESTING)]
    return splice(bytes, at - (at - 1) % 4, 4, order:u32(value))
  end,
}

local function mutate(bytes)
  for _ = 1, math.random(1, 4) do
    if #bytes > 0 then
      bytes = mutations[math.random(#mutations)](bytes, math.random(#bytes))
    end
  end
  return bytes
end

-- The offset in the file of a pointer into the reader's window.
local function offset_of(file, data)
  local input = file.records.input
  return input.base + tonumber(data - input.window)
end

local function check_packets(file, bytes)
  local least = 0
  while true do
    local data, captured, original = file:next()
    if not data then return end
    local at = offset_of(file, data)
    assert(at >= least and at + captured <= #bytes, "a packet outside the file")
    assert(ffi.string(data, captured) == bytes:sub(at + 1, at + captured),
           "bytes that aren't the file's")
    assert(original >= captured)
    least = at + captured
  end
end

local function read_damaged(path, bytes)
  testing.save(path, bytes)
  local ok, err = pcall(function()
    local file = reader.open(path)
    local whole, problem = pcall(check_packets, file, bytes)
    file:close()
    if not whole then error(problem, 0) end
  end)
  return ok, err
end

-- In memory where that's possible: 100,000 files are written.
local function temporary_file()
  local path = os.tmpname()
  os.remove(path)
  local in_memory = "/dev/shm/" .. path:match("[^/]+$")
  local file = io.open(in_memory, "wb")
  if not file then return path end
  file:close()
  return in_memory
end

describe("The savefile reader", function()
  it("survives " .. FILES .. " damaged files #slow", function()
    local path = temporary_file()
    finally(function() os.remove(path) end)
    local files = seeds()
    local seed = os.time()
    math.randomseed(seed)
    local read, refused = 0, 0
    for i = 1, FILES do
      local bytes = mutate(files[i % #files + 1])
      local ok, err = read_damaged(path, bytes)
      if ok then
        read = read + 1
      elseif failure.is(err) then
        refused = refused + 1
      else
        error(("file %d of seed %d: %s"):format(i, seed, tostring(err)))
      end
    end
    -- Both happen often, or the test has lost its meaning.
    assert.is_true(read > FILES / 100)
    assert.is_true(refused > FILES / 100)
  end)
end)
