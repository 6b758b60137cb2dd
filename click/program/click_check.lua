-- SPDX-License-Identifier: Apache-2.0
-- `perigee click-check`: is a configuration right, as far as that can be checked
-- without running it? Classes, ports, what pushes and what pulls.

local element = require("click.element")
local filter = require("program.click.filter")
local hookup = require("click.router.hookup")
local registry = require("click.registry")

local M = {summary = "check a Click configuration without running it"}

local SPECS = filter.options{
  {names = {"filter"}, letter = "p", field = "filter",
    help = "If it is right, write it to standard output."},
  {names = {"quiet"}, letter = "q", field = "quiet",
    help = "Don't say that it is right."},
  {names = {"userlevel"}, letter = "u", field = "user", help = "Takes no effect."},
}

-- Check the classes, and how the elements are connected.
local function check(flat, reporter)
  local list, known = {}, true
  for i, e in ipairs(flat.elements) do
    local class = registry.find(e.class)
    if not class then
      reporter:at(e.landmark):error("unknown element class '%s'", e.class)
      known = false
    else
      list[i] = element.new(class, {name = e.name, config = e.config or "",
        landmark = e.landmark, index = i})
    end
  end
  return known and hookup.check(list, flat.connections, reporter) ~= nil
end

--- Run with the command line's arguments (a list of strings).
M.run = filter.program("click-check", "Check a configuration's classes and "
  .. "connections. What elements say of their arguments shows when it runs.", SPECS,
  "[VAR=VALUE]... [FILE]", function (o, reporter)
    local flat = filter.read(o, reporter)
    if not flat or not check(flat, reporter) then return nil end
    if o.filter or o.output then return filter.text(flat, false, true) end
    if not o.quiet then reporter:message("configuration OK") end
    return ""
  end)

return M
