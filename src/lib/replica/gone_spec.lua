-- SPDX-License-Identifier: Apache-2.0

local ends = require("testing.replica_ends")
local ffi = require("ffi")
local keep = require("net.keep.keep")
local send = require("lib.replica.send")
local stderr = require("testing.stderr")

local add, sweep = ends.add, ends.sweep

local function path(name, of) return keep.folder(name) .. "/" .. keep.file_of(of) end

describe("lib.replica.gone", function ()
  local s, r, t
  before_each(function ()
    t, s, r = ends.set_up()
    for key = 1, 5 do add(t, key, key) end
    assert.is_nil(sweep(s, r))
  end)
  after_each(function () ends.tear_down(s, r) end)

  -- Another connection: how many records are gone then.
  local function again()
    s:close()
    r:close()
    local a, b = ends.pipe()
    s, r = send.new(a, ends.NAME, "peer", 0), ends.receiver(b)
    assert.is_nil(sweep(s, r))
    return r.gone
  end

  it("counts what a former connection has left and the master hasn't", function ()
    for key = 1, 2 do t:remove(t:find(ffi.new("uint64_t[1]", key))) end
    t.record[t:find(ffi.new("uint64_t[1]", 3))].value = 33
    add(t, 6, 6)
    assert.equal(3, again())
    assert.truthy(stderr.told():find("in the place of 5 here, of which 3 are gone"))
    assert.equal(0, again())
  end)

  it("knows what the master has put aside, as a process does that begins", function ()
    os.rename(path(ends.NAME, "a/table"), path(ends.NAME, "a/table former 1"))
    t = ends.new_table()
    keep.leave() -- nobody goes on with it
    assert.equal(0, again())
    assert.is_nil(stderr.told():find("gone", 1, true))
  end)

  it("counts the records of files that the master hasn't", function ()
    os.rename(path(ends.THERE, "a/table"), path(ends.THERE, "a/table former 1"))
    t:remove(t:find(ffi.new("uint64_t[1]", 1)))
    assert.equal(1, again())
    assert.truthy(stderr.told():find("so the one here is gone, with 1 records"))
  end)

  it("counts nothing while a connection lasts: the master has let go", function ()
    t:remove(t:find(ffi.new("uint64_t[1]", 1)))
    t = ends.new_table()
    assert.is_nil(sweep(s, r))
    assert.equal(0, r.gone)
  end)
end)
