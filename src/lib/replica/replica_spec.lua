-- SPDX-License-Identifier: Apache-2.0
-- Both ends of a replication (testing.replica_ends).

local ends = require("testing.replica_ends")
local ffi = require("ffi")
local keep = require("net.keep.keep")
local send = require("lib.replica.send")
local going_on = require("net.keep.going_on")
local outside = require("core.outside.visitors")
local stderr = require("testing.stderr")
local tree = require("core.shm.tree")

local NAME, THERE = ends.NAME, ends.THERE
local add, new_table, now, pipe = ends.add, ends.new_table, ends.now, ends.pipe
local receiver, sweep, taken = ends.receiver, ends.sweep, ends.taken
local MUTANTS = tonumber(os.getenv("PERIGEE_MUTANTS") or 2000)

describe("lib.replica", function ()
  local s, r, t, a, b
  before_each(function ()
    t, s, r, a, b = ends.set_up()
  end)
  after_each(function () ends.tear_down(s, r) end)

  it("lets another host find each record before it has all", function ()
    local few = going_on.FEW
    finally(function () going_on.FEW = few end)
    going_on.FEW = 0
    local function number_of(of, key) return of:find(ffi.new("uint64_t[1]", key)) end
    for i = 1, 3000 do add(t, i, 2 * i) end
    assert.is_nil(sweep(s, r))
    for i = 1, 1000 do t:remove(number_of(t, 3 * i)) end
    for i = 1, 500 do add(t, 5000 + i, 7) end -- some in their places
    t.record[number_of(t, 1)].value = 99
    assert.is_nil(sweep(s, r))
    keep.leave()
    keep.use(THERE)
    local t2 = new_table()
    assert.equal(0, t2:count())
    assert.equal(99, tonumber(t2.record[number_of(t2, 1)].value))
    for i = 2, 3000 do
      local number = number_of(t2, i)
      assert.equal(i % 3 == 0, number == 0)
      if number ~= 0 then assert.equal(2 * i, tonumber(t2.record[number].value)) end
    end
    assert.equal(2000, t2:count()) -- by look-ups alone
    repeat outside.tend(0) until stderr.told():find("2500 of 2500 records")
    assert.equal(7, tonumber(t2.record[number_of(t2, 5500)].value))
  end)

  it("leaves no hints where a file goes", function ()
    add(t, 1, 1)
    assert.is_nil(sweep(s, r))
    local hints = keep.folder(THERE) .. "/.hints"
    assert.same({keep.file_of("a/table")}, tree.names(hints))
    require("posix.unistd").unlink(keep.folder(NAME) .. "/" .. keep.file_of("a/table"))
    assert.is_nil(sweep(s, r))
    assert.same({{}, {}}, {tree.names(hints), tree.names(keep.folder(THERE))})
  end)

  it("has all records there, and what changes", function ()
    for i = 1, 3000 do add(t, i, 2 * i) end
    local wanted = {}
    for i = 1, 3000 do wanted[i] = 2 * i end
    assert.is_nil(sweep(s, r))
    assert.same(wanted, (taken()))
    for i = 1, 1000 do
      t:remove(t:find(ffi.new("uint64_t[1]", 3 * i)))
      wanted[3 * i] = nil
    end
    add(t, 7777, 1)
    t.record[t:find(ffi.new("uint64_t[1]", 1))].value = 99
    wanted[7777], wanted[1] = 1, 99
    local sent = s:counts().records
    assert.is_nil(sweep(s, r))
    assert.same(wanted, (taken()))
    assert.equal(2, s:counts().records - sent)
    assert.equal(999, s:counts().removed) -- 7777 has the number of one
    assert.equal(2001, r:counts().there)
    assert.equal(2001, s:counts().there)
    assert.is_true(r:is_whole())
  end)

  it("sends an age by itself once it is off by an eighth", function ()
    local number = add(t, 5, 50)
    assert.is_nil(sweep(s, r))
    local function after(ms)
      t.record[number].age.expiry = now() + ms
      s.told_at = 0
      assert.is_nil(sweep(s, r))
      return s:counts().ages
    end
    assert.equal(0, after(60000))
    assert.equal(1, after(20000))
    assert.equal(1, s:counts().records)
    local _, expiries = taken()
    assert.is_true(math.abs(expiries[5] - now() - 20000) < 5000)
  end)

  it("shifts ages by the clocks' difference", function ()
    local key, later = 5, 1e15 -- ns: the master was started 11 days later
    add(t, key, 50)
    local bytes = ""
    local write = a.write
    function a.write(_, from, n) -- whole frames come at once
      local frame = ffi.cast("struct replica_frame *", from)
      if frame.type == 3 then
        local batch = ffi.cast("struct replica_batch *", from + 8)
        batch.clock_ns = batch.clock_ns - later
      end
      bytes = bytes .. ffi.string(from, n)
      return write(a, from, n)
    end
    local before = now()
    assert.is_nil(sweep(s, r))
    local _, expiries = taken()
    local shifted = expiries[key] - 1e15 / 1e6
    assert.is_true(shifted >= before + 59000 and shifted <= now() + 61000,
      ("%f of %f"):format(shifted, now()))
  end)

  it("has a file in the place of another when that is whole, and none of its own",
    function ()
      add(t, 1, 1)
      assert.is_nil(sweep(s, r))
      t = new_table() -- as after a hot swap
      add(t, 2, 2)
      assert.is_nil(sweep(s, r))
      assert.same({[2] = 2}, (taken()))
      assert.is_nil(stderr.told():find("gone", 1, true)) -- it is the master's doing
      os.remove(("%s/%s"):format(keep.folder(NAME), keep.file_of("a/table")))
      assert.is_nil(sweep(s, r))
      assert.same({}, tree.names(keep.folder(THERE)))
    end)

  it("begins with all records after a cut", function ()
    add(t, 1, 1)
    assert.is_nil(sweep(s, r))
    r:close()
    s:close()
    t:remove(t:find(ffi.new("uint64_t[1]", 1)))
    add(t, 3, 3)
    a, b = pipe()
    s, r = send.new(a, NAME, "peer", 0), receiver(b)
    assert.is_nil(sweep(s, r))
    assert.same({[3] = 3}, (taken()))
  end)

  it("says why it can't write", function ()
    r = receiver(b, function () return "this host is master, too", true end)
    assert.equal("refuses: this host is master, too", sweep(s, r)
      == "this host is master, too" and s:work() or "")
    assert.is_true(r.split)
  end)

  it("refuses what needs more memory than it may", function ()
    for i = 1, 5000 do add(t, i, i) end
    r.limit = 1000
    assert.truthy(sweep(s, r):find("needs more than 1000 bytes", 1, true))
    assert.is_true(r.lied)
    r:close()
    assert.same({}, tree.names(keep.folder(THERE)))
  end)

  -- What a frame says that can't be, and what is said of it.
  local function u32(...)
    local n = select("#", ...)
    return ffi.string(ffi.new("uint32_t[?]", n, ...), 4 * n)
  end
  local function frame(type, bytes) return u32(#bytes, type) .. bytes end
  local HELLO = frame(1, '{"perigee":1,"name":"spec"}')
  local function file(text, id) return frame(2, u32(id or 1, #text) .. text) end
  local function described(change)
    local text = '{"of":"a","layout":"b","size":64,"age_at":0,"most":100,'
      .. '"per_second":1000}'
    for from, to in pairs(change or {}) do text = text:gsub(from, to) end
    return HELLO .. file(text)
  end
  local function records(entries) return described() .. frame(3, u32(1, 0, 0, 0)
    .. entries) end
  local LIES = {
    ["has a frame of type 9 with 0 bytes"] = HELLO .. frame(9, ""),
    ["has a frame of type 3 with 4 bytes"] = frame(3, u32(1)),
    ["has a frame of 4294967295 bytes"] = u32(2 ^ 32 - 1, 1),
    ["speaks another version than 1"] = frame(1, '{"perigee":2,"name":"spec"}'),
    ["has another name than 'spec'"] = frame(1, '{"perigee":1,"name":"../x"}'),
    ["has a file whose text is no JSON"] = HELLO .. file("{"),
    ["has a text of 4294967295 bytes, of 0"] = HELLO .. frame(2, u32(1, 2 ^ 32 - 1)),
    ["has records of 7 bytes"] = described{['"size":64'] = '"size":7'},
    ["has records of 64.5 bytes"] = described{['"size":64'] = '"size":64.5'},
    ["has ages at byte 48 of 64"] = described{['"age_at":0'] = '"age_at":48'},
    ["has keys that aren't within records of 64 bytes"] = described{['"most"'] =
      '"keys":{"at":40,"size":16,"n":2},"most"'},
    ["has up to 1000000000 records"] = described{['"most":100'] = '"most":1000000000'},
    ["has ages of which 0 are a second"] = described{['"per_second":1000'] =
      '"per_second":0'},
    ["has a file whose name or layout is no text of up to 255 bytes"] =
      described{['"of":"a"'] = '"of":""'},
    ["has 'a' twice"] = described() .. described():sub(#HELLO + 1):gsub("\1", "\2", 1),
    ["has records of a file 2"] = described() .. frame(3, u32(2, 0, 0, 0)),
    ["has a batch without a head"] = described() .. frame(3, u32(1)),
    ["has a record 101, and there may be 100"] = records(u32(101) .. ("x"):rep(64)),
    ["has a record 0, and there may be 100"] = records(u32(0) .. ("x"):rep(64)),
    ["ends within an entry"] = records(u32(1) .. ("x"):rep(63)),
    ["has an entry of kind 3"] = records(u32(2 ^ 31 + 2 ^ 30 + 1)),
    ["removes the record 1, which isn't there"] = records(u32(2 ^ 30 + 1)),
    ["has an age for the record 1, which has none"] = records(u32(2 ^ 31 + 1, 0, 0)),
    ["has a record 1 that ends at 9187201950435737471"] = records(u32(1)
      .. ("\127"):rep(64)),
    ["speaks of a file 3"] = described() .. frame(4, u32(3)),
    ["has a sweep without a number"] = described() .. frame(6, ""),
  }
  for problem, bytes in pairs(LIES) do
    it("refuses a master that " .. problem, function ()
      b.bytes, b.over = bytes, false
      local told
      for _ = 1, 10 do told = told or r:work() end
      assert.equal(problem, told)
      r:close()
      assert.same({}, tree.names(keep.folder(THERE)))
    end)
  end

  it("survives streams that were changed on their way", function ()
    for i = 1, 40 do add(t, i, i) end
    assert.is_nil(sweep(s, r))
    for i = 1, 20 do t:remove(t:find(ffi.new("uint64_t[1]", i))) end
    assert.is_nil(sweep(s, r))
    local good, refused = b.all, 0
    r:close()
    for i = 1, MUTANTS do
      local bytes = good
      for _ = 1, math.random(4) do
        local at = math.random(#bytes)
        local put = string.char(math.random(0, 255)):rep(math.random(4))
        bytes = bytes:sub(1, at - 1) .. put .. bytes:sub(at + math.random(0, 6))
      end
      local _, other = pipe()
      other.bytes, other.over = bytes, true
      r = receiver(other)
      local problem
      for _ = 1, 200 do problem = problem or r:work() end
      assert.truthy(problem, "mutant " .. i)
      if r.lied then refused = refused + 1 end
      r:close()
      for _, name in ipairs(tree.names(keep.folder(THERE))) do
        local path = keep.folder(THERE) .. "/" .. name
        local looked, fd = keep.look(path)
        assert(looked, fd)
        assert(keep.read(looked, fd))
        require("posix.unistd").close(fd)
        os.remove(path)
      end
    end
    assert.is_true(refused > MUTANTS / 10, refused)
  end)
end)
