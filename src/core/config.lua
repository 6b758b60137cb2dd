-- SPDX-License-Identifier: Apache-2.0
-- Configurations: which apps there are and how they are linked. Plain data;
-- engine.configure() makes it run.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local arguments = require("core.lib.arguments")
local failure = require("core.failure")
local lib = require("core.lib")
local link_order = require("core.link_order")
local on_error = require("core.on_error")
local tables = require("core.lib.tables")

local config = {}

--- How a link is written, with a Lua pattern for its four names.
config.link_syntax =
  "^%s*([%w_@/]+)%.([%w_]+)%s*%->%s*([%w_@/]+)%.([%w_]+)%s*$"

--- An empty configuration: {apps = {}, links = {}}.
function config.new()
  return {apps = {}, links = {}}
end

local function value_of(text, name)
  local ok, value = pcall(lib.load_string, text)
  if not ok then
    failure.usage("app '%s': its argument isn't a Lua expression: %s", name, text)
  end
  return value
end

local function of_kind(name, what, kind, value)
  arguments.check(("app '%s': %s"):format(name, what), kind, value)
  return arguments.value(kind, value)
end

--- The argument an app's class gets: `arg` (a table, or a Lua expression in a
--- string), checked against the class's `config` specification and completed
--- with its defaults (lib.parse). An entry of that may have a `kind`
--- (core.lib.arguments), which the value must be of. What is wrong is in Snabb's words,
--- with those names that are right.
function config.parse_app_arg(arg, spec, name)
  if type(arg) == "string" then arg = value_of(arg, name or "?") end
  local ok, parsed = pcall(lib.parse, arg, spec)
  if not ok then
    local heading = name and ("failed to configure '%s': "):format(name) or ""
    failure.usage("%s%s", heading, tostring(parsed))
  end
  for key, entry in pairs(spec) do
    if entry.kind and parsed[key] ~= nil and parsed[key] ~= entry.default then
      parsed[key] = of_kind(name or "?", key, entry.kind, parsed[key])
    end
  end
  return parsed
end

-- "gw/arp" is the app `arp` of the part `gw` of a larger graph.
local function is_name(text)
  return type(text) == "string" and text:match("^[%w_@/]+$")
    and not (text:find("//", 1, true) or text:match("^/") or text:match("/$"))
end

--- Add the app `name` of `class`, to be made with class:new(arg). A class without a
--- `config` may have `argument`, the argument's kind (core.lib.arguments).
function config.app(c, name, class, arg)
  if not is_name(name) then
    failure.usage("'%s' can't name an app: use letters, digits, _ and @, with / "
      .. "between the parts of a longer name", tostring(name))
  end
  if type(class) ~= "table" or not class.new then
    failure.usage("app '%s': its class is %s, not a table with new()", name,
      class == nil and "nil (is its name spelled right?)" or type(class))
  end
  if class.config then
    arg = config.parse_app_arg(arg, class.config, name)
  elseif type(class.argument) == "string" then
    arg = of_kind(name, "its argument", class.argument, arg)
  end
  c.apps[name] = {class = class, arg = arg}
end

-- The parts of links, by text: a change of a graph asks for them again and again.
local MOST_KNOWN = 65536
local known, nknown = {}, 0

local function parse_link(spec)
  local from, output, to, input = tostring(spec):match(config.link_syntax)
  if not from then
    failure.usage("'%s' isn't a link: write 'app.output -> app.input'",
      tostring(spec))
  end
  if nknown >= MOST_KNOWN then known, nknown = {}, 0 end
  local parts = {from, output, to, input}
  known[spec], nknown = parts, nknown + 1
  return parts
end

--- The parts of "app.output -> app.input": from app, output, to app, input.
function config.parse_link(spec)
  local parts = known[spec] or parse_link(spec)
  return parts[1], parts[2], parts[3], parts[4]
end

--- The text of a link in its one canonical form.
function config.format_link(from, output, to, input)
  return ("%s.%s -> %s.%s"):format(from, output, to, input)
end

--- A link's text in canonical form.
function config.canonical_link(spec)
  return config.format_link(config.parse_link(spec))
end

--- Add a link: "app.output -> app.input".
function config.link(c, spec)
  local text = config.canonical_link(spec)
  link_order.add(c.links, text)
  c.links[text] = true
end

--- What becomes of the app `name` if it raises an error while packets flow: `policy` is
--- "stop" (the program ends; so it is without), "restart" (the app is stopped and made
--- anew), "bypass" (packets go from its one input to its one output) or "drop" (packets
--- for it are dropped). `options` for "restart": times (5), in `seconds` (10); one more
--- ends the program.
function config.on_error(c, name, policy, options)
  if not c.apps[name] then
    failure.usage("config.on_error names an app '%s'; the apps are: %s", tostring(name),
      table.concat(config.sorted_keys(c.apps), ", "))
  end
  c.apps[name].on_error = on_error.of_arguments(name, policy, options)
end

local MOST_CPU = 1023

--- Run the app `name` on the CPU of that number, on a worker with the other apps that
--- are placed there: a thread with a Lua state and an engine of its own. An app that
--- isn't placed runs in the main thread. `options`: restart = true starts the worker's
--- apps again when one of them has failed.
function config.cpu(c, name, cpu, options)
  arguments.whole(("app '%s': a CPU"):format(tostring(name)), cpu, 0, MOST_CPU)
  for key in pairs(options or {}) do
    if key ~= "restart" then
      failure.usage("app '%s': config.cpu has no option '%s'; it takes restart", name,
        tostring(key))
    end
  end
  c.cpus, c.restart = c.cpus or {}, c.restart or {}
  c.cpus[name] = cpu
  if options and options.restart then c.restart[cpu] = true end
end

--- Run the apps `names` (a list) once on each of the CPUs (a list), as NAME_1, NAME_2
--- and so on. A port among them gets as many queues, if it spreads flows by itself;
--- else, and where links lead to the apps from outside, packets are handed out so that
--- each flow stays on one CPU, in order. `meets` (core.cpus.dividable; default: flows):
--- what has to come to one copy; `table_of`: see core.cpus.replicate.
function config.replicate(c, names, cpus, meets, table_of)
  require("core.cpus.replicate").apply(config, c, names, cpus, meets, table_of)
end

local function shallow(t)
  if not t then return nil end
  return tables.copy(t)
end

--- A copy of the configuration; arguments of apps are shared.
function config.copy(c)
  local copy = config.new()
  for name, app in pairs(c.apps) do
    copy.apps[name] = {class = app.class, arg = app.arg, on_error = app.on_error}
  end
  for spec in pairs(c.links) do copy.links[config.canonical_link(spec)] = true end
  copy.cpus, copy.restart = shallow(c.cpus), shallow(c.restart)
  copy.halves = shallow(c.halves)
  return copy
end

--- The configuration as a Graphviz digraph.
function config.graphviz(c)
  local lines = {"digraph config {"}
  for _, spec in ipairs(config.sorted_keys(c.links)) do
    local from, output, to, input = config.parse_link(spec)
    lines[#lines + 1] = ('  "%s" -> "%s" [taillabel="%s" headlabel="%s"];')
      :format(from, to, output, input)
  end
  lines[#lines + 1] = "}\n"
  return table.concat(lines, "\n")
end

--- The keys of a table, all of them strings or all numbers, sorted.
function config.sorted_keys(t)
  return tables.sorted_keys(t)
end

return require("core.lib.arguments").guard(config, "config", {
  app = "configuration", link = "configuration",
  cpu = "configuration, string", copy = "configuration", graphviz = "configuration",
  on_error = "configuration, string", replicate = "configuration, table, table",
  parse_app_arg = "any?, table",
})
