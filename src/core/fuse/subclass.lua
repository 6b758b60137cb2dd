-- SPDX-License-Identifier: Apache-2.0
-- Per-packet apps under Snabb's names, made ready for programs that derive classes from
-- them, or hold such an app in one of their own, and call its push().

local unfused = require("core.fuse.unfused")
local contract = require("core.fuse.contract")
local link = require("core.link")

local subclass = {}

local ONE_OUTPUT = {"output"}

--- Give the per-packet class a push(app), which is called with an app of the class, or
--- of one that was derived from it, that has links. before(app) is called first. The
--- engine doesn't call it: see core.fuse.contract.
function subclass.give_push(class, before)
  local function drain(app, l)
    unfused.process_all(app, class.outputs or ONE_OUTPUT, l, link.nreadable(l), 1)
  end
  function class.push(app)
    app.process = app.process or class.process -- of another class's metatable
    app.drops = app.drops or class.drops
    if before then before(app) end
    for i = 1, #app.input do drain(app, app.input[i]) end
    if #app.input == 0 then -- an app within another, which has given it links by name
      for _, l in pairs(app.input) do drain(app, l) end
    end
  end
  contract.is_for_others(class.push)
end

--- The table `app` as one of `class`, which may be derived without an __index of its
--- own.
function subclass.new(class, app)
  return setmetatable(app, rawget(class, "__index") and class or {__index = class})
end

return subclass
