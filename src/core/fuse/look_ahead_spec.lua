-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")

local config = require("core.config")
local engine = require("core.app")
local regions = require("testing.regions")
local stderr = require("testing.stderr")
local texts = require("testing.texts")

local Pass = regions.Pass

local function text_of(p) return ffi.string(p.data, p.length) end

-- Notes what it is told ahead, and how much of that it has then processed.
local function Reader(fields)
  fields.seen, fields.done = {}, {}
  fields.ahead = fields.ahead or function (_, packets, n)
    for i = 0, n - 1 do
      table.insert(fields.seen, text_of(packets[i]) .. "/" .. #fields.done)
    end
  end
  fields.process = function (_, p)
    table.insert(fields.done, text_of(p))
    return p
  end
  return regions.class(fields)
end

describe("an app that looks ahead", function ()
  before_each(stderr.keep)

  after_each(function ()
    stderr.leave()
    engine.fuse = true
    engine.configure(config.new())
  end)

  local links = {"in.x -> a.i", "a.output -> reader.i", "reader.output -> b.i",
                 "b.output -> out.i"}

  local function chain(class)
    regions.run_anew({a = {Pass}, reader = {class}, b = {Pass}}, links)
  end

  local function apps_of_regions()
    local list = {}
    for i, r in ipairs(engine.regions) do
      list[i] = table.concat(r.description.apps, " ")
    end
    return list
  end

  local function pass(list)
    texts.send(links[1], list)
    engine.breathe()
    assert.same(list, texts.take(links[4]))
  end

  it("gets all of a burst before its first packet", function ()
    local class = Reader{}
    chain(class)
    assert.same({"a", "reader b"}, apps_of_regions())
    pass{"x", "yy", "zzz"}
    assert.same({"x/0", "yy/0", "zzz/0"}, class.seen)
    assert.same({"x", "yy", "zzz"}, class.done)
    assert.same({3, 6, 3, 6, 0}, texts.totals(links[2]))
  end)

  it("isn't asked to where nothing is fused", function ()
    local class = Reader{}
    engine.fuse = false
    chain(class)
    pass{"x", "yy"}
    assert.same({}, class.seen)
    assert.same({"x", "yy"}, class.done)
  end)

  -- Breathe until the regions are these.
  local function wait_for(wanted)
    local breaths = 0
    engine.busywait = true
    engine.main{no_report = true, done = function ()
      breaths = breaths + 1
      return table.concat(apps_of_regions(), ", ") == wanted or breaths > 5e7
    end}
    assert.equal(wanted, table.concat(apps_of_regions(), ", "))
  end

  it("does so while it outgrows the caches, and loses nothing #slow", function ()
    local large = false
    local class = Reader{outgrows_cache = function () return large end}
    chain(class)
    assert.same({"a reader b"}, apps_of_regions())
    pass{"x"}
    assert.same({}, class.seen)
    large = true
    wait_for("a, reader b")
    pass{"yy", "z"}
    assert.same({"yy/1", "z/1"}, class.seen)
    large = false
    wait_for("a reader b")
    pass{"last"}
    assert.same({"yy/1", "z/1"}, class.seen)
    for i = 1, 4 do assert.same({4, 8, 4, 8, 0}, texts.totals(links[i])) end
  end)

  it("goes on without, once outgrows_cache() raises an error", function ()
    local class = Reader{outgrows_cache = function () error("what cache?") end}
    chain(class)
    assert.same({"a reader b"}, apps_of_regions())
    pass{"x", "yy"}
    assert.same({}, class.seen)
    assert.matches("^perigee: app 'reader' doesn't look ahead any more: [^\n]*"
      .. "what cache%?\n$", stderr.told())
  end)

  it("goes on without, once that raises an error", function ()
    local class = Reader{ahead = function () error("no such field") end}
    chain(class)
    pass{"x", "yy"}
    pass{"z"}
    assert.same({"x", "yy", "z"}, class.done)
    assert.matches("^perigee: app 'reader' doesn't look ahead any more: [^\n]*"
      .. "no such field\n$", stderr.told())
  end)
end)
