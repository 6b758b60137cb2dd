-- SPDX-License-Identifier: Apache-2.0

local examination = require("core.watch.examination")

local function event(kind, reason, count)
  return {kind = kind, file = "a.lua", line = 7, reason = reason, app = "load",
          caller = "script.lua:3", count = count, packet_path = true}
end

-- What core.watch.health has noted.
local function health()
  local abort = event("abort", "NYI: bytecode FNEW", 2)
  return {traces = 5, flushes = 1,
          events = function () return {abort, event("stitch", "x", 1)} end,
          problems = function () return {abort} end}
end

describe("examination", function ()
  it("puts together what tasks that run the same found", function ()
    assert.is_nil(examination.found())
    local listened = examination.listened(health())
    assert.same({5, 1, 2, 2}, {listened.traces, listened.flushes, listened.aborts,
      listened.on_path})
    examination.add("load", listened)
    examination.add("load", examination.listened(health()))
    examination.add("other", examination.listened(health()))
    examination.add("deaf", nil)
    local all = examination.found()
    assert.same({15, 6, {"deaf"}}, {all.listened.traces, all.listened.aborts,
      all.unknown})
    assert.equal(1, #all.listened.causes)
    local cause = all.listened.causes[1]
    assert.same({"a.lua", 7, 6, {"load", "other"}, {"script.lua:3"}},
      {cause.file, cause.line, cause.count, cause.tasks, cause.callers})
  end)
end)
