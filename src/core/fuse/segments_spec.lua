-- SPDX-License-Identifier: Apache-2.0

local config = require("core.config")
local engine = require("core.app")
local segments = require("core.fuse.segments")

describe("core.fuse.segments.unroll", function ()
  local asked, start

  before_each(function ()
    segments.unroll({})
    asked, start = {}, jit.opt.start
    jit.opt.start = function (...) -- luacheck: ignore
      asked[#asked + 1] = ...
      return start(...)
    end
  end)

  after_each(function ()
    jit.opt.start = start -- luacheck: ignore
    segments.unroll({})
  end)

  local function region(count, backs)
    local list = {}
    for i = 1, count do list[i] = function () end end
    return {segment = list, description = {backs = backs and {{}} or {}}}
  end

  it("has room for the tail calls of a long way", function ()
    segments.unroll{region(2), region(30)}
    assert.same({"loopunroll=60"}, asked)
  end)

  it("has room for a packet that goes round a loop of links", function ()
    segments.unroll{region(2, true)}
    assert.same({"loopunroll=60"}, asked)
  end)

  it("is as LuaJIT has it where ways are short", function ()
    segments.unroll{region(30)}
    segments.unroll{region(3), region(10)}
    assert.same({"loopunroll=60", "loopunroll=15"}, asked)
  end)

  it("isn't touched as long as nothing changes", function ()
    segments.unroll{region(1)}
    segments.unroll{}
    assert.same({}, asked)
  end)

  it("is settled when the engine gets a graph", function ()
    local Pass = {inputs = {"input", "back"}, outputs = {"output"}}
    Pass.__index = Pass
    function Pass:new() return setmetatable({}, self) end
    function Pass:process(p) return p end -- luacheck: no self
    local c = config.new()
    config.app(c, "one", Pass)
    config.app(c, "other", Pass)
    config.link(c, "one.output -> other.input")
    config.link(c, "other.output -> one.back")
    engine.configure(c)
    assert.same({"loopunroll=60"}, asked)
    engine.configure(config.new())
    assert.same({"loopunroll=60", "loopunroll=15"}, asked)
  end)
end)
