-- SPDX-License-Identifier: Apache-2.0
-- Damaged savefiles: the reader returns bytes of the file, at offsets that grow, or
-- raises a failure; never anything else.

local ffi = require("ffi")
local damage = require("testing.damage")
local failure = require("core.failure")
local reader = require("lib.pcap.reader")
local testing = require("testing.savefiles")

local FILES = 100000

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

describe("The savefile reader", function()
  it("survives " .. FILES .. " damaged files #slow", function()
    local path = damage.temporary_file()
    finally(function() os.remove(path) end)
    local files = damage.seeds()
    local seed = os.time()
    math.randomseed(seed)
    local read, refused = 0, 0
    for i = 1, FILES do
      local bytes = damage.mutate(files[i % #files + 1])
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
