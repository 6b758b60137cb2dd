-- SPDX-License-Identifier: Apache-2.0
-- What a running replay accepts on its control socket (doc/control.md): to hold and
-- to go on, another rate or speed, to finish, and to say what was sent so far.

local arguments = require("lib.control.arguments")
local control = require("lib.control.server")
local engine = require("core.app")
local failure = require("core.failure")
local finish = require("lib.control.finish")
local options_of = require("program.replay.options")
local quantity = require("lib.quantity")

local M = {}

-- What was sent so far, and the rates since this was asked last.
local function statistics(source)
  local told, packets, bits = engine.now(), 0, 0
  return function ()
    local now = engine.now()
    local seconds = now - told
    local function rate(n, before)
      return seconds > 0 and (n - before) / seconds or 0
    end
    local answer = {
      seconds = source.started and now - source.started or 0,
      scheduled = source.scheduled, packets = source.packets, bytes = source.bytes,
      bits = source.bits, pps = rate(source.packets, packets),
      bit_rate = rate(source.bits, bits), loop = source.loop,
      held = source.held or false, done = source.done,
    }
    told, packets, bits = now, source.packets, source.bits
    return answer
  end
end

-- The schedule's part of the argument of a Replayer that the request means.
local function timing(request)
  local text, speed = arguments.text(request, "rate"), arguments.text(request, "speed")
  if (text == nil) == (speed == nil) then
    error("one of rate, such as \"500kpps\" or \"1Gbps\", and speed, such as \"2\"", 0)
  elseif text then
    local rate, problem = options_of.rate(text)
    if not rate then error(problem, 0) end
    return rate
  end
  local factor = quantity.decimal(speed)
  if not factor or factor <= 0 or factor == math.huge then
    error(("speed is a number above 0, not '%s'"):format(speed), 0)
  end
  return {speed = factor}
end

--- Let the control socket of this process take what replay can be told, about the app
--- `source` with the argument `argument`.
function M.let_in(source, argument)
  local commands, follow = control.commands, statistics(source)
  finish.let_in()
  commands.statistics = {arguments = {}, run = function () return follow() end}
  commands.hold = {arguments = {}, run = function ()
    source:hold()
    return {held = true}
  end}
  commands.go = {arguments = {}, run = function ()
    source:go()
    return {held = false}
  end}
  commands.rate = {arguments = {rate = true, speed = true}, run = function (_, request)
    local new = timing(request)
    if not source.set_timing then
      failure.usage("a file that is sent in loops from memory has no rate: leave out "
        .. "--topspeed")
    end
    argument.packet_rate, argument.bit_rate, argument.speed = nil, nil, nil
    for key, value in pairs(new) do argument[key] = value end
    source:set_timing(argument)
    return {rate = request.rate, speed = request.speed}
  end}
end

return M
