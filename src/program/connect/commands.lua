-- SPDX-License-Identifier: Apache-2.0
-- What a running connect accepts on its control socket (doc/control.md): to open no
-- more connections and to go on, another rate or limit, to finish, and to say what
-- became of them so far.

local arguments = require("lib.control.arguments")
local control = require("lib.control.server")
local engine = require("core.app")
local finish = require("lib.control.finish")
local quantity = require("lib.quantity")
local report = require("program.connect.report")

local M = {}

local function statistics(sides, began)
  local seconds = engine.now() - began
  local answer = {seconds = seconds}
  for _, side in ipairs(report.results(sides, seconds, 0).sides) do
    answer[side.name] = {counts = side.counts, connect_ns = side.connect,
                         first_byte_ns = side.first_byte}
  end
  return answer
end

local function change_rate(client, request)
  local text = arguments.text(request, "rate")
  local rate = text and quantity.count(text)
  if not rate or rate < 1 then
    error(("rate is new connections a second, such as \"500\" or \"20k\", not %s")
      :format(text and "'" .. text .. "'" or "none"), 0)
  end
  client:set_rate(rate)
  return {rate = text}
end

-- Of both sides, as --concurrent.
local function change_limit(sides, request)
  local text = arguments.text(request, "concurrent")
  local limit, most = text and quantity.count(text), math.huge
  for _, side in ipairs(sides) do most = math.min(most, side.app.setup.most) end
  if not limit or limit < 1 or limit > most or limit % 1 ~= 0 then
    error(("concurrent is how many connections may be open, such as \"500\" or "
      .. "\"20k\", here up to %d (more where --concurrent was more), not %s"):format(
      most, text and "'" .. text .. "'" or "none"), 0)
  end
  for _, side in ipairs(sides) do side.app:set_limit(limit) end
  return {concurrent = text}
end

--- Let the control socket of this process take what connect can be told.
function M.let_in(sides)
  local commands, began = control.commands, engine.now()
  local first = sides[1].app
  finish.let_in()
  commands.statistics = {arguments = {}, run = function ()
    return statistics(sides, began)
  end}
  commands.hold = {arguments = {}, run = function ()
    first:hold()
    return {held = true}
  end}
  commands.go = {arguments = {}, run = function ()
    first:go()
    return {held = false}
  end}
  commands.concurrent = {arguments = {concurrent = true}, run = function (_, request)
    return change_limit(sides, request)
  end}
  if sides[1].name == "client" then
    commands.rate = {arguments = {rate = true}, run = function (_, request)
      return change_rate(first, request)
    end}
  end
end

return M
