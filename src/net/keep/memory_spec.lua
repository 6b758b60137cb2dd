-- SPDX-License-Identifier: Apache-2.0
local F = require("core.declare")("net/flow/flow.h")
local ffi = require("ffi")
local flow = require("net.flow.flow")
local keep = require("net.keep.keep")
local kept = require("testing.kept")
local packet = require("core.packet")
local tables = require("net.keep.tables")

local N, SOME = 150000, 4096

local function fills()
  local f
  repeat f = F.pg_flow_fills() until f.asked == f.large + f.late + f.failed
  return f
end

local function table_of()
  local t = flow.new{key = "uint64_t", value = "struct { uint64_t word[7]; }",
    limit = 2 * N}
  keep.records(tables.item{of = "large", layout = "large 1", flows = t,
    now = function () return 0 end})
  return t
end

describe("A large table that is kept", function ()
  before_each(kept.set_up)
  after_each(kept.tear_down)

  it("lies in large pages where the kernel makes some, and loses nothing", function ()
    packet.free(packet.allocate()) -- DPDK is started: so the thread can be
    local before, key, t = fills(), ffi.new("uint64_t[1]"), table_of()
    for k = 1, N do
      key[0] = k
      t.record[t:add(key)].value.word[6] = 3 * k
      if k % SOME == 0 then fills() end
    end
    local after = fills()
    assert.truthy(after.asked > before.asked)
    assert.truthy(after.large > before.large or after.error ~= 0)
    for _ = 1, 2 do
      for k = 1, N, 7 do
        key[0] = k
        assert.equal(3 * k, tonumber(t.record[t:find(key)].value.word[6]))
      end
      kept.again()
      t = table_of()
    end
  end)
end)
