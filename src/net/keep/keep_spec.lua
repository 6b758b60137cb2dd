-- SPDX-License-Identifier: Apache-2.0
local C = require("core.declare")("net/keep/keep.h")
local ffi = require("ffi")
local fcntl = require("posix.fcntl")
local flow = require("net.flow.flow")
local keep = require("net.keep.keep")
local kept = require("testing.kept")
local stat = require("posix.sys.stat")
local stderr = require("testing.stderr")
local unistd = require("posix.unistd")

ffi.cdef "int truncate(const char *path, long length);"

local NOW = 1000

-- A table of numbers that age, what is kept of it, and what came of the last one.
local function new(layout)
  local t = flow.new{key = "uint64_t", value = "uint64_t", limit = 1000, ages = {60}}
  local seen = {}
  local item = {of = "a/table", layout = layout or "numbers 1",
    records = t.table.records, notes = "a note", begin = function (notes)
      seen.notes = notes
      return function (record)
        local r = ffi.cast(ffi.typeof("$ *", t.record_type), record)
        if tonumber(r.age.expiry) <= NOW then return "out of time" end
        seen[#seen + 1] = tonumber(r.key)
        local number = t:add(ffi.new("uint64_t[1]", r.key), NOW)
        t.record[number].value = r.value
      end
    end}
  return t, item, seen
end

local function add(t, key, value, now)
  local number = t:add(ffi.new("uint64_t[1]", key), now)
  t.record[number].value = value
  return number
end

local again = kept.again

local function path() return keep.folder("spec") .. "/a%2Ftable" end

local function change(at, bytes)
  local file = assert(io.open(path(), "r+b"))
  file:seek("set", at)
  file:write(bytes)
  file:close()
end

describe("net.keep", function ()
  before_each(kept.set_up)
  after_each(kept.tear_down)

  it("goes on with records, the one that goes first in front", function ()
    local t, item, seen = new()
    add(t, 7, 70, 980)
    keep.records(item)
    assert.same({}, seen)
    add(t, 8, 80, 960)
    t:remove(add(t, 9, 90, 960))
    add(t, 10, 100, 900) -- out of time at 960
    again()
    local t2, item2, seen2 = new()
    keep.records(item2)
    assert.same({8, 7, notes = "a note"}, seen2)
    assert.equal(70, tonumber(t2.record[t2:find(ffi.new("uint64_t[1]", 7))].value))
    assert.equal("perigee: --keep spec: a/table goes on with 2 of 3 records; not used: "
      .. "1 out of time\n", stderr.told())
    assert.equal(0, t2:find(ffi.new("uint64_t[1]", 9)))
  end)

  it("keeps a table of any size, and what it has from then on", function ()
    local t, item = new()
    keep.records(item)
    for i = 1, 1000 do add(t, i, 2 * i, NOW) end
    keep.records(item) -- a new file, of what there is
    for i = 1, 500 do t:remove(t:find(ffi.new("uint64_t[1]", 2 * i))) end
    again()
    local t2, item2, seen = new()
    keep.records(item2)
    assert.equal(500, #seen)
    for i = 1, 1000, 2 do
      assert.equal(2 * i, tonumber(t2.record[t2:find(ffi.new("uint64_t[1]", i))].value))
    end
    assert.equal(500, t2:count())
  end)

  it("lets nobody else read its files", function ()
    local _, item = new()
    keep.records(item)
    assert.equal(384, stat.stat(path()).st_mode % 512)
    assert.equal(448, stat.stat(keep.folder("spec")).st_mode % 512)
  end)

  -- Each spoils a file, and says why it isn't used then.
  local SPOILT = {
    ["is no file of kept records"] = function () change(0, "x") end,
    ["has version 2, and this program reads 1"] = function () change(8, "\2") end,
    ["has a header that doesn't match its checksum"] = function () change(16, "\9") end,
    ["ends within its header"] = function () assert(io.open(path(), "w")):close() end,
    ["ends before its records"] = function ()
      assert(ffi.C.truncate(path(), C.KEEP_HEADER + C.KEEP_NOTES) == 0)
    end,
    ["has holes"] = function () assert(ffi.C.truncate(path(), 2 ^ 22) == 0) end,
    ["is open to other users: its mode is 640"] = function ()
      stat.chmod(path(), 416)
    end,
    ["has 2 names"] = function () unistd.link(path(), path() .. "2") end,
    ["is a symbolic link"] = function ()
      os.rename(path(), path() .. "2")
      unistd.link(path() .. "2", path(), true)
    end,
    ["is no ordinary file"] = function ()
      unistd.unlink(path())
      stat.mkfifo(path(), 384)
    end,
    ["has 18446744073709551615 bytes of notes, of 1048576"] = function ()
      change(ffi.offsetof("struct keep_header", "notes_size"), ("\255"):rep(8))
    end,
    ["has records of the layout 'numbers 1', 40 bytes, and 'numbers 2', 40, is "
      .. "needed"] = function () return "numbers 2" end,
  }
  for why, spoil in pairs(SPOILT) do
    it("doesn't use a file that " .. why, function ()
      local t, item = new()
      add(t, 7, 70, NOW)
      keep.records(item)
      again()
      local refused = keep.counts.refused
      local _, item2, seen = new(spoil())
      keep.records(item2)
      assert.equal("perigee: --keep spec: the state of a/table isn't used: its file "
        .. why .. "\n", stderr.told())
      assert.same({}, seen)
      assert.equal(refused + 1, keep.counts.refused)
      -- And it begins anew.
      again()
      assert.truthy(keep.look(path()))
    end)
  end

  it("is for one process", function ()
    local fd = fcntl.open(keep.folder("spec"), fcntl.O_RDONLY)
    assert.is_true(keep.is_used("spec"))
    keep.leave()
    assert.is_false(keep.is_used("spec"))
    unistd.close(fd)
  end)

  it("removes what a process was writing when it was killed", function ()
    local half = keep.folder("spec") .. "/.half"
    assert(io.open(half, "w")):close()
    again()
    assert.is_nil(stat.stat(half))
  end)

  it("has this layout; another one has another version", function ()
    local FIELDS = {"magic", "version", "header_size", "record_size", "age_at", "most",
      "notes_at", "bits_at", "records_at", "boot", "release", "of", "layout", "sum",
      "notes_size", "per_second"}
    local offsets = {}
    for i, field in ipairs(FIELDS) do
      offsets[i] = ffi.offsetof("struct keep_header", field)
    end
    assert.same({0, 8, 12, 16, 20, 24, 32, 40, 48, 56, 96, 120, 376, 632, 640, 648},
      offsets)
    assert.same({1, 656, 4096, 2 ^ 20, 1000}, {C.KEEP_VERSION,
      ffi.sizeof("struct keep_header"), C.KEEP_HEADER, C.KEEP_NOTES,
      C.KEEP_PER_SECOND})
    -- What lies in each record that ages.
    local places = {}
    for i, field in ipairs{"older", "newer", "expiry", "queued", "list", "note"} do
      places[i] = ffi.offsetof("struct flow_age", field)
    end
    assert.same({0, 4, 8, 16, 20, 21}, places)
    assert.equal(24, ffi.sizeof("struct flow_age"))
  end)
end)
