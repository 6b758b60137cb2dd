-- SPDX-License-Identifier: Apache-2.0
-- What AES-GCM keeps for a thread goes with it.

local script = require("testing.support").script

-- Starts and stops workers with such an app, in two halves of 60; prints how many KB
-- the second one took.
local CYCLES = [[
  -- One heap for all threads: with several it is by chance how much of each is used.
  local ffi = require("ffi")
  ffi.cdef "int mallopt(int, int);"
  assert(ffi.C.mallopt(-8, 1) == 1) -- M_ARENA_MAX, mallopt(3)
  local affinity = require("core.cpus.affinity")
  local c = config.new()
  config.app(c, "app", require("testing.gcm_app").Encrypts)
  config.cpu(c, "app", affinity.cpus()[1])
  local function resident()
    collectgarbage()
    local file = io.open("/proc/self/statm")
    local pages = file:read("*a"):match("%d+ (%d+)")
    file:close()
    return pages * 4
  end
  local function cycle(n)
    for _ = 1, n do
      engine.configure(c)
      engine.configure(config.new())
    end
    return resident()
  end
  local before = cycle(60)
  print("more:", cycle(60) - before)
]]

describe("lib.ipsec.aes_gcm_avx on workers", function ()
  it("leaks nothing when they stop #slow", function ()
    local said, status = script(CYCLES, {"--eal", "--no-huge"})
    assert.equal(0, status)
    local kb = tonumber(said:match("more:\t(-?%d+)\n"))
    assert.is_true(kb < 60 * 50, said) -- what leaked was 200 KB for each worker
  end)
end)
