-- SPDX-License-Identifier: Apache-2.0
-- What becomes of an app that raises an error while packets flow: its policy. Those of
-- a configuration are set by config.on_error, the others by engine.on_error or
-- --on-error. Pure; core.engine.recover carries them out.

local failure = require("core.failure")

local on_error = {}

--- The policies: the program ends; the app is stopped and made anew; packets go from
--- its input to its output; packets for it are dropped.
on_error.NAMES = {"stop", "restart", "bypass", "drop"}

--- Restarts of an app before one more is too many, and within how many seconds.
local TIMES, SECONDS = 5, 10

--- Seconds until what didn't start is tried again, or a worker that has stopped.
on_error.PAUSE_SECONDS = 0.2

local known = {}
for _, name in ipairs(on_error.NAMES) do known[name] = true end

--- Check that `policy` is one; `where` is what was given it ("--on-error").
function on_error.check(where, policy)
  if known[policy] then return policy end
  failure.usage("%s: '%s' is none of %s", where, tostring(policy),
    table.concat(on_error.NAMES, ", "))
end

local function number(where, options, key, default, least)
  local n = options[key]
  if n == nil then return default end
  if type(n) ~= "number" or not (n >= least and n <= 1e9)
      or key == "times" and n % 1 ~= 0 then
    failure.usage("%s: %s = %s: give a %snumber from %g on", where, key, tostring(n),
      key == "times" and "whole " or "", least)
  end
  return n
end

--- What config.on_error keeps for the app `name`: {policy =, times =, seconds =}.
function on_error.of_arguments(name, policy, options)
  local where = ("config.on_error of app '%s'"):format(name)
  on_error.check(where, policy)
  for key in pairs(options or {}) do
    if policy ~= "restart" or key ~= "times" and key ~= "seconds" then
      failure.usage("%s: '%s' has no option '%s'; restart takes times and seconds",
        where, policy, tostring(key))
    end
  end
  options = options or {}
  return {policy = policy, times = number(where, options, "times", TIMES, 0),
          seconds = number(where, options, "seconds", SECONDS, 0.001)}
end

--- The app of a configuration that is a part of another (core.engine.expand): with the
--- policy of that, if it has none itself.
function on_error.inherit(app, whole)
  if app.on_error or not whole.on_error then return app end
  local policy = {inherited = true}
  for key, value in pairs(whole.on_error) do policy[key] = value end
  return {class = app.class, arg = app.arg, on_error = policy}
end

-- Bypasses ---------------------------------------------------------------

-- The names of the app's inputs and outputs that are linked.
local function links_of(c, config, name)
  local inputs, outputs = {}, {}
  for _, spec in ipairs(config.sorted_keys(c.links)) do
    local from, output, to, input = config.parse_link(spec)
    if to == name then inputs[#inputs + 1] = input end
    if from == name then outputs[#outputs + 1] = output end
  end
  return inputs, outputs
end

local function listed(names)
  return #names == 0 and "none" or table.concat(names, ", ")
end

--- Can packets pass the app by, from its one input to its one output? The output's
--- name, or nil and why not. `app` is the running app, or its class; `config` is
--- core.config.
function on_error.output_beside(c, config, name, app)
  if app.pull then return nil, "packets come in at it (it has pull())" end
  local inputs, outputs = links_of(c, config, name)
  if #inputs == 1 and #outputs == 1 then return outputs[1] end
  return nil, ("it has the inputs %s and the outputs %s, and not one of each"):format(
    listed(inputs), listed(outputs))
end

--- Check the policies of a configuration; raises a failure.
function on_error.check_configuration(c, config)
  for _, name in ipairs(config.sorted_keys(c.apps)) do
    local app = c.apps[name]
    local own = app.on_error and not app.on_error.inherited and app.on_error.policy
    if own == "bypass" and not (app.class.expand or app.class.expand_together) then
      local output, why = on_error.output_beside(c, config, name, app.class)
      if not output then
        failure.usage("app '%s': packets can't bypass it on an error: %s; let it be %s",
          name, why, "stop, restart or drop")
      end
    end
  end
end

--- What applies to the app `name` of the configuration `c`, which runs as `app`:
--- {policy =, times =, seconds =}. `default` is the policy of those that have none; if
--- that, or what is said of a graph that the app is part of, is "bypass", it is "stop"
--- for those that nothing can bypass.
function on_error.of(c, config, name, app, default)
  local own = c.apps[name] and c.apps[name].on_error
  own = own or {policy = default, times = TIMES, seconds = SECONDS, inherited = true}
  if own.inherited and own.policy == "bypass"
      and not on_error.output_beside(c, config, name, app) then
    return {policy = "stop"}
  end
  return own
end

-- Restarts ---------------------------------------------------------------

--- Is one more restart at the time `now` too many? `past` is a list of the times of
--- those before, to which it is added if not.
function on_error.too_many(past, policy, now)
  local recent = {}
  for _, time in ipairs(past) do
    if now - time < policy.seconds then recent[#recent + 1] = time end
  end
  if #recent >= policy.times then return true end
  recent[#recent + 1] = now
  for i = 1, math.max(#past, #recent) do past[i] = recent[i] end
  return false
end

return on_error
