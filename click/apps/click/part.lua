-- SPDX-License-Identifier: Apache-2.0
-- A router as a part of the engine's configuration (core.engine.expand): its elements
-- become the apps APP/ELEMENT, and APP itself runs their tasks and timers.

local config = require("core.config")
local cpu_switches = require("click.threads.cpu_switches")
local division = require("click.threads.division")
local ends = require("apps.click.ends")
local errors = require("click.errors")
local failure = require("core.failure")
local files = require("core.lib.files")
local graph = require("click.router.graph")
local language = require("click.language")
local registry = require("click.registry")
local requirements = require("click.language.requirements")
local router = require("click.router.router")

local part = {}

local function find_class(name) return ends.find(name) or registry.find(name) end

local function read_file(path, name)
  local text, problem = files.text(path)
  return text or failure.usage("app '%s': %s", name, problem)
end

--- The text of the configuration that `arg` names, and what messages call it.
function part.source(arg, name)
  if arg.text then return arg.text, name end
  return read_file(arg.file, name), arg.file
end

--- A router of the configuration `text`, which takes over from `old` if that isn't nil.
--- A usage error says what is wrong with it.
function part.router(text, file, arg, name, old)
  local report = errors.new()
  local thread = arg.thread -- of a router over several
  local is_part = thread ~= nil or arg.copy ~= nil
  local flat = language.read{text = (is_part and "" or ends.declarations) .. text,
    file = file, errors = report, variables = arg.variables, class_of = find_class,
    class_names = registry.names, packages = requirements.PACKAGES}
  for _, e in ipairs(flat and arg.more or {}) do table.insert(flat.elements, e) end
  if flat and thread then
    if thread.passing then
      flat = cpu_switches.bypass(flat, thread.of, thread.passing)
    end
    flat = division.part(flat, thread.of, thread.number, "PartInput", "PartOutput")
  end
  local made = flat and router.new(flat, {errors = report, old = old,
    find_class = find_class, variables = arg.variables, ports = arg.devices,
    prefix = name .. "/", copy = arg.copy, is_part = is_part,
    part = thread and thread.number, passing = thread and thread.passing,
    sharing = thread and thread.sharing})
  if not made then
    failure.usage("app '%s': %s", name, (report:text():gsub("\n$", "")))
  end
  for _, e in ipairs(thread and not arg.copy and made.elements or {}) do
    e.home_thread = thread.number
  end
  return made
end

--- The part for the app `name`, which is itself `app` ({class =, arg =}).
function part.of(made, name, app)
  local inner, prefix = graph.configuration(made), name .. "/"
  local result = {apps = {[name] = app}, links = {}}
  for other, description in pairs(inner.apps) do
    result.apps[prefix .. other] = description
  end
  for spec in pairs(inner.links) do
    local from, output, to, input = config.parse_link(spec)
    result.links[config.format_link(prefix .. from, output, prefix .. to, input)] = true
  end
  for field, e in pairs{inputs = "input", outputs = "output"} do
    result[field] = function (port)
      local devices = made.device_ends and made.device_ends[field]
      if devices and devices[port] then return prefix .. devices[port] end
      local own = made.by_name[e]
      return own and ends.place(own, prefix .. e, port)
    end
  end
  return result
end

return part
