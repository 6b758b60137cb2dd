-- SPDX-License-Identifier: Apache-2.0
-- Routes as text: what lookup elements take as arguments and handlers, for an element
-- `e` with routes (click.net.routes), noutputs, and compile(), called after changes. If
-- it has `extend`, further words are e:extend(route, words), which returns nil if they
-- aren't right; it may give the route a port of e's own making, which e:output_of(port)
-- knows.

local bit = require("bit")
local meanwhile = require("core.lib.meanwhile")
local routes = require("click.net.routes")
local text_of = require("click.language.text")
local types = require("click.arguments").types
local wire = require("click.net.wire")

local route_commands = {}

local PREFIX = {bare = true}

-- The route of "ADDR/MASK [GATEWAY|-] OUTPUT" (`or_less`: OUTPUT may be left out), or
-- nil.
local function parse(e, text, or_less)
  local words = text_of.words(text)
  local prefix = words[1] and types.ip_prefix(words[1], PREFIX, e)
  if not prefix then return nil end
  local i, gateway = 2, 0
  if words[2] == "-" then
    i = 3
  elseif words[2] then
    local address = types.ip(words[2], {}, e)
    if address then i, gateway = 3, address end
  end
  local port = words[i] and types.int(words[i], {})
  if words[i] and not port or not words[i] and not or_less then return nil end
  local route = {address = bit.band(prefix.address, prefix.mask) % 2 ^ 32,
                 mask = prefix.mask, gateway = gateway, port = port or -1}
  if not words[i + 1] then return route end
  return e.extend and e:extend(route, {unpack(words, i + 1)})
end
route_commands.parse = parse

local function has_output(e, route, least)
  return route.port >= least and (route.port < e.noutputs or route.label)
end

--- Read the arguments of a lookup element, a route each: most of them at once, in C,
--- and what is written in an unusual way one by one, by take(number, text). `ports` and
--- `replace` as for net.route.table. Returns what that has read; what is wrong is
--- told to the element.
function route_commands.read(e, text, ports, replace, take)
  local reading = routes.reading(text, ports, replace)
  while true do
    local problem = e.routes:read(text, reading)
    if problem then
      e:error("argument %d: %s", reading.number + 1, problem)
      return reading
    end
    local argument, behind = text_of.argument_at(text, reading.at + 1)
    if not argument then return reading end
    reading.number = reading.number + 1
    take(reading.number, argument)
    reading.at = math.min(behind - 1, #text)
    meanwhile.step()
  end
end

--- Take the arguments of a lookup element.
function route_commands.configure(e, arguments)
  local again = 0
  local function take(i, text)
    local route = parse(e, text)
    if not route then
      e:error("argument %d should be 'ADDR/MASK [GATEWAY] OUTPUT'", i)
    elseif not has_output(e, route, 0) then
      e:error("argument %d bad OUTPUT", i)
    else
      local before, problem = e.routes:add(route, false)
      again = again + (before and 1 or 0)
      if problem then e:error("argument %d: %s", i, problem) end
    end
  end
  local reading = route_commands.read(e, arguments, e.noutputs, false, take)
  again = again + reading.again
  if again > 0 then
    e:warning("%d %s replaced by later versions", again,
      again > 1 and "routes" or "route")
  end
  e:compile()
end

-- Carry out a command; what undoes it, or nil and what is wrong.
local function run(e, command, text)
  local list, removing = e.routes, command == "remove"
  local route = parse(e, text, removing)
  if not route then
    return nil, ("expected 'ADDR/MASK [GATEWAY%s'"):format(
      removing and " OUTPUT]" or "] OUTPUT")
  elseif not has_output(e, route, removing and -1 or 0) then
    return nil, "bad OUTPUT"
  end
  if removing then
    local before = list:remove(route)
    if not before then
      return nil, ("route '%s' not found"):format(routes.route_text(route))
    end
    return function () list:add(before, true) end
  end
  local before, problem = list:add(route, command == "set")
  if problem then return nil, problem end
  if before and command == "add" then
    return nil, ("conflict with existing route '%s'"):format(routes.route_text(before))
  end
  return function ()
    if before then list:add(before, true) else list:remove(route) end
  end
end

local function write(command)
  return {write = function (e, text)
    local undo, problem = run(e, command, text_of.uncomment(text))
    if not undo then return problem end
    e:compile()
  end}
end

local COMMANDS = {add = true, set = true, remove = true}

-- Commands in lines: all of them, or none.
local function write_all(e, text)
  local done = {}
  for line in (text_of.uncomment(text) .. "\n"):gmatch("([^\n]*)\n") do
    local command, rest = text_of.first_word(line)
    local undo, problem
    if COMMANDS[command] then
      undo, problem = run(e, command, rest)
    elseif command ~= "" then
      problem = ("bad command '%s'"):format(command)
    end
    if problem then
      for i = #done, 1, -1 do done[i]() end
      e:compile()
      return problem
    end
    done[#done + 1] = undo
  end
  e:compile()
end

local function look_up(e, text)
  local address = types.ip(text, {}, e)
  if not address then return nil, "expected IP address" end
  local port, gateway = e.find(wire.word_of(address))
  if port < 0 then return "-1" end
  port = e.output_of and e:output_of(port) or port
  return gateway ~= 0 and ("%d %s"):format(port - 1, wire.word_text(gateway))
    or ("%d"):format(port - 1)
end

-- Packets pass while a long table is written.
local function text(e)
  local routes_of, router = e.routes, e.router
  if not router.go_on then return routes_of:text() end
  return meanwhile.call(function () router:go_on() end, routes_of.text, routes_of)
end

--- Handlers that read.
route_commands.readers = {
  table = {read = text},
  lookup = {read = look_up, param = true},
}

--- Those that write.
route_commands.writers = {
  add = write("add"), set = write("set"), remove = write("remove"),
  ctrl = {write = write_all},
}

--- One that removes all routes.
route_commands.flush = {write = function (e)
  e.routes:clear()
  e:compile()
end}

return route_commands
