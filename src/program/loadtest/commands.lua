-- SPDX-License-Identifier: Apache-2.0
-- What a running loadtest accepts on its control socket (doc/control.md): to wait
-- before the next trial and to go on, to finish with what there is, and to say how far
-- its trials are.

local control = require("lib.control.server")
local engine = require("core.app")
local finish = require("lib.control.finish")

local M = {}

-- What the trial with this result (program.loadtest.tester) came to.
local function told(result)
  local sent, received = 0, 0
  for _, s in ipairs(result.streams) do
    sent, received = sent + s.tx, received + s.rx
  end
  return {rate = result.rate, seconds = result.seconds, sent = sent,
          received = received,
          loss = sent > 0 and math.max(0, sent - received) / sent or 0,
          passed = result.passed, void = result.void, reason = result.reason}
end

--- Let the control socket of this process take it, about the tester `t`: its fields
--- `made` (how many trials have been), `last` (the result of the last), `doing` ({rate,
--- seconds, began} of the present one, or nil), `held`.
function M.let_in(t)
  local commands = control.commands
  finish.let_in()
  commands.statistics = {arguments = {}, run = function ()
    local doing = t.doing
    return {trials = t.made, last = t.last and told(t.last), held = t.held,
      highest_passed = t.highest_passed, lowest_failed = t.lowest_failed,
      trial = doing and {rate = doing.rate, duration = doing.seconds,
                         seconds = engine.now() - doing.began} or nil}
  end}
  commands.hold = {arguments = {}, run = function ()
    t.held = true
    return {held = true}
  end}
  commands.go = {arguments = {}, run = function ()
    t.held = false
    return {held = false}
  end}
end

return M
