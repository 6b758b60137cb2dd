-- SPDX-License-Identifier: Apache-2.0
-- A graph as a file in JSON or YAML (doc/graph.md), read into a configuration. Nothing
-- is opened or started; whatever is wrong is a sentence with the file and the line.
-- doc/graph.schema.json has the same keys.

local affinity = require("core.cpus.affinity")
local classes = require("program.run.classes")
local config = require("core.config")
local document = require("lib.document.document")
local failure = require("core.failure")
local kept = require("program.run.kept")
local links = require("program.run.links")
local module_path = require("lib.module_path")
local names = require("core.engine.names")
local spelling = require("core.lib.spelling")
local on_error = require("core.on_error")
local plan = require("core.engine.plan")
local values = require("program.run.values")

local graph_file = {}

local PORT_CLASS = "apps.port.port.Port"

--- The keys there are, by what has them: lists.
graph_file.KEYS = {
  graph = {"$schema", "description", "name", "keep", "standby", "replicate_to",
           "ports", "apps", "links", "cpus", "replicate"},
  app = {"class", "arg", "cpu", "on_error"},
  port = {"port", "burst", "queues", "queue", "receive_only", "cpu", "on_error"},
  on_error = {"policy", "times", "seconds"},
  replicate = {"apps", "cpus"},
}
local KEYS = graph_file.KEYS

local Graph = {}
Graph.__index = Graph

function Graph:refuse(line, fmt, ...)
  document.refuse(self.path, line, fmt, ...)
end

function Graph:want(n, what, kind) return document.want(self.path, n, what, kind) end

function Graph:check_keys(map, what, known)
  document.check_keys(self.path, map, what, known)
end

-- Call f(...); what a failure of it says gets the file and the line in front, without
-- what is secret.
function Graph:within(line, f, ...)
  local ok, err = pcall(f, ...)
  if ok then return err end
  if not failure.is(err) then error(err, 0) end
  local sentence = values.hide(self.notes, tostring(err))
  if not sentence:find(self.path .. ":", 1, true) then
    sentence = ("%s:%d: %s"):format(self.path, line, sentence)
  end
  local raise = err.status == 2 and failure.usage or failure.raise
  raise("%s", sentence)
end

-- Apps and ports -----------------------------------------------------------------

function Graph:set_on_error(name, n)
  local policy, options = n.value, nil
  if n.map then
    local what = ("on_error of '%s'"):format(name)
    self:check_keys(n, what, KEYS.on_error)
    local chosen = values.of(self.notes, n)
    policy, chosen.policy = chosen.policy, nil
    options = chosen
  end
  self:within(n.line, on_error.of_arguments, name, policy, options)
  config.on_error(self.configuration, name, policy, options)
end

-- What every app may have: a CPU, and a policy for errors.
function Graph:place(name, map)
  if map.cpu then
    self:want(map.cpu, ("cpu of '%s'"):format(name), "number")
    self:within(map.cpu.line, config.cpu, self.configuration, name, map.cpu.value)
  end
  if map.on_error then self:set_on_error(name, map.on_error) end
end

function Graph:add(name, class, arg, line)
  if self.lines[name] then
    self:refuse(line, "'%s' is an app already, in line %d", name, self.lines[name])
  end
  self.lines[name] = line
  self:within(line, config.app, self.configuration, name, class, arg)
end

-- The argument of an app; its keys, where the class says which it takes.
function Graph:argument(name, class, n)
  local spec = class.config
  if n and spec and next(spec) then
    local what = ("the argument of '%s'"):format(name)
    self:want(n, what, "map")
    self:check_keys(n, what, config.sorted_keys(spec))
  elseif n and type(n.value) == "string" and spec then
    self:refuse(n.line, "app '%s' takes no argument", name)
  end
  return n and values.of(self.notes, n)
end

function Graph:add_app(name, n, line)
  local map = n.map or {class = n}
  if n.map then self:check_keys(n, ("app '%s'"):format(name), KEYS.app) end
  if not map.class then self:refuse(line, "app '%s' has no class", name) end
  self:want(map.class, ("the class of '%s'"):format(name), "string")
  local class = self:within(map.class.line, classes.find, map.class.value)
  self:add(name, class, self:argument(name, class, map.arg), line)
  self:place(name, map)
end

local NOT_ARGUMENTS = {cpu = true, on_error = true}

-- The value of a port's argument. The port string `null` is nothing in YAML and JSON.
local function port_value(self, n)
  return n.word == "null" and n.word or values.of(self.notes, n)
end

function Graph:add_port(name, n, line)
  local arg
  if n.map and n.map.port then
    self:check_keys(n, ("port '%s'"):format(name), KEYS.port)
    arg = {}
    for _, at in ipairs(n.keys) do
      if not NOT_ARGUMENTS[at.key] then
        arg[at.key] = port_value(self, n.map[at.key])
      end
    end
    local only = next(arg) == "port" and next(arg, "port") == nil
    if only then arg = arg.port end
  else
    arg = port_value(self, n)
    if type(arg) ~= "string" and type(arg) ~= "number" then
      if n.map then self:check_keys(n, ("port '%s'"):format(name), KEYS.port) end
      self:refuse(line, "port '%s' is a port string, or a map with `port`", name)
    end
  end
  self:add(name, classes.find(PORT_CLASS), arg, line)
  self:place(name, n.map or {})
end

-- Call add(self, name, node, line) for each key of the map.
function Graph:each(what, add)
  local n = self.root.map[what]
  if not n or n.value == nil and not n.map and not n.list then return end
  self:want(n, what, "map")
  for _, at in ipairs(n.keys) do
    self.pause()
    add(self, tostring(at.key), n.map[at.key], at.line)
  end
end

-- Call add(self, node) for each element of the list.
function Graph:each_of(what, add)
  local n = self.root.map[what]
  local list = n and self:want(n, what, "list").list or {}
  for _, item in ipairs(list) do
    self.pause()
    add(self, item)
  end
end

-- Links --------------------------------------------------------------------------

function Graph:add_link(n)
  local text = self:want(n, "a link", "string").value
  local list, problem = links.of(text)
  if not list then self:refuse(n.line, "'%s' isn't a link: %s", text, problem) end
  local apps = self.configuration.apps
  for _, link in ipairs(list) do
    for _, name in ipairs{link[1], link[3]} do
      if not apps[name] then
        local known = config.sorted_keys(apps)
        self:refuse(n.line, "link '%s': there is no app '%s'%s; there are: %s",
          link.spec, name, spelling.hint(name, known), table.concat(known, ", "))
      end
    end
    if self.lines[link.spec] then
      self:refuse(n.line, "the link '%s' is here twice; first in line %d", link.spec,
        self.lines[link.spec])
    end
    self.lines[link.spec] = n.line
    config.link(self.configuration, link.spec)
  end
end

-- CPUs ---------------------------------------------------------------------------

function Graph:cpus_of(n, what)
  if type(n.value) ~= "number" then self:want(n, what, "string") end
  local text = ("%s"):format(tostring(n.value))
  self:within(n.line, affinity.list, text, what)
  return text
end

function Graph:replicate(n)
  self:want(n, "an entry of replicate", "map")
  self:check_keys(n, "an entry of replicate", KEYS.replicate)
  for _, key in ipairs(KEYS.replicate) do
    if not n.map[key] then
      self:refuse(n.line, "an entry of replicate has no %s", key)
    end
  end
  local apps = {}
  for i, item in ipairs(self:want(n.map.apps, "apps", "list").list) do
    apps[i] = self:want(item, "the name of an app", "string").value
  end
  local cpus = self:cpus_of(n.map.cpus, "cpus")
  self:within(n.line, config.replicate, self.configuration, apps,
    affinity.list(cpus, "cpus"))
end

-- A string of the graph's own, or nil.
function Graph:string(key)
  local n = self.root.map[key]
  return n and self:want(n, key, "string").value
end

-- The whole ----------------------------------------------------------------------

-- What is said of state that outlives the process.
local function take_kept(self)
  local map = self.root.map
  self.keep, self.replicate_to = self:string("keep"), self:string("replicate_to")
  if self.keep then self:within(map.keep.line, kept.check_keep, self.keep) end
  if self.replicate_to then
    self:within(map.replicate_to.line, kept.check_replicate_to, self.replicate_to)
  end
  if map.standby then
    self.standby = self:want(map.standby, "standby", "boolean").value or nil
  end
  for _, key in ipairs{"standby", "replicate_to"} do
    if self[key] and not self.keep then
      self:refuse(map[key].line, "`%s` needs a name: add `keep: NAME`", key)
    end
  end
end

local function build(self)
  self:want(self.root, "a graph", "map")
  self:check_keys(self.root, "a graph", KEYS.graph)
  self.name = self:string("name")
  if self.name then self:within(self.root.map.name.line, names.check, self.name) end
  take_kept(self)
  self:string("description")
  self:each("ports", self.add_port)
  self:each("apps", self.add_app)
  if not next(self.configuration.apps) then
    self:refuse(self.root.line, "a graph has `apps` or `ports`; this has none")
  end
  self:each_of("links", self.add_link)
  self:each_of("replicate", self.replicate)
  local cpus = self.root.map.cpus
  self.cpus = cpus and self:cpus_of(cpus, "cpus")
end

--- The graph that `text` tells, which is what the file at `path` has: {configuration =,
--- text =, name =, keep =, standby = true, replicate_to =, cpus = the text of a list of
--- CPUs (or nil each), notes = program.run.values'}.
--- Raises a failure. `pause`, if given, is called again and again: it may yield.
function graph_file.parse(path, text, pause)
  local self = setmetatable({path = path, lines = {}, configuration = config.new(),
    text = text,
    pause = pause or function () end, root = document.parse(path, text, pause),
    notes = values.notes(path)}, Graph)
  module_path.add_folder_of(path)
  build(self)
  return self
end

--- The same, of the file at `path`.
function graph_file.load(path, pause)
  return graph_file.parse(path, document.text(path), pause)
end

-- The line of the first app or link that the sentence names.
local function line_of(self, sentence)
  for name in sentence:gmatch("'([^']*)'") do
    if self.lines[name] then return self.lines[name] end
  end
end

--- Call f(...) with the graph's configuration before; what a failure of it says of an
--- app or a link gets the file and the line in front.
function Graph:apply(f, ...)
  local ok, err = pcall(f, self.configuration, ...)
  if ok then return end
  if not failure.is(err) then error(err, 0) end
  local line = line_of(self, tostring(err))
  local sentence = values.hide(self.notes, tostring(err))
  local raise = err.status == 2 and failure.usage or failure.raise
  raise("%s:%s %s", self.path, line and line .. ":" or "", sentence)
end

--- Check everything that can be known without running it. Raises a failure.
function Graph:check() self:apply(plan.check) end

return graph_file
