-- SPDX-License-Identifier: Apache-2.0
-- What the running graph is made of, as plain data: apps, links, fused regions and
-- CPUs; for pictures, and for whoever asks from outside.

local RemoteApp = require("core.cpus.remote_app")
local config = require("core.config")
local engine = require("core.app")
local partition = require("core.cpus.partition")
local workers = require("core.cpus.workers")

local graph = {}

local PORT = "apps.port.port"

-- Classes by the table that they are: "Sink" of apps.basic.basic_apps.
local function names_of_classes()
  local names = {}
  for name, module in pairs(package.loaded) do
    if type(name) == "string" and name ~= "_G" and type(module) == "table" then
      names[module] = names[module] or name:match("[^.]*$")
      for field, value in next, module do
        if type(field) == "string" and type(value) == "table" then
          names[value] = field
        end
      end
    end
  end
  return names
end

-- The port string of an app that is a port.
local function port_of(app)
  local ports = package.loaded[PORT]
  if not ports or app.class ~= ports.Port then return nil end
  local text = type(app.arg) == "table" and app.arg.port or app.arg
  return text and tostring(text)
end

--- The port strings of apps that are ports: {[APP] = text}.
function graph.ports()
  local ports = {}
  for name, app in pairs(engine.configuration.apps) do ports[name] = port_of(app) end
  return ports
end

--- What is fused in this thread's engine, and why others aren't: {regions = a list of
--- lists of names, reasons = {[NAME] = text}}.
function graph.here()
  local regions, reasons = {}, {}
  for i, region in ipairs(engine.regions or {}) do
    regions[i] = region.description.apps
  end
  for name, reason in pairs(engine.not_fused or {}) do
    if getmetatable(engine.app_table[name]) ~= RemoteApp then reasons[name] = reason end
  end
  return {regions = regions, reasons = reasons}
end

-- The same of all engines: call add(what graph.here returned).
local function each_engine(c, add)
  add(graph.here())
  local parts = partition.is_placed(c) and partition.of(c) or {}
  for _, cpu in ipairs(partition.places(parts)) do
    local ok, told = pcall(workers.call, cpu, "lib.observe.graph", "here")
    if ok and told then add(told) end
  end
end

-- Regions, each cut where its apps are on several CPUs.
local function regions_of(c, cpus)
  local regions, number_of, reasons = {}, {}, {}
  each_engine(c, function (told)
    for _, names in ipairs(told.regions) do
      local by_cpu = {}
      for _, name in ipairs(names) do
        local cpu = cpus[name]
        local region = by_cpu[cpu or "none"]
        if not region then
          region = {number = #regions + 1, cpu = cpu, apps = {}}
          regions[region.number], by_cpu[cpu or "none"] = region, region
        end
        table.insert(region.apps, name)
        number_of[name] = region.number
      end
    end
    for name, reason in pairs(told.reasons) do reasons[name] = reason end
  end)
  return regions, number_of, reasons
end

--- The running graph: {apps = a list of {name =, class =, port = a port string, cpu =,
--- region = its number, pulls = do packets come in at it?, why = why it isn't fused},
--- links = a list of {link = the text, from =, output =, to =, input =}, regions = a
--- list of {number =, cpu =, apps = names}}, sorted by name; what doesn't apply is nil.
--- Asks workers. `cpus` ({[NAME] = CPU}) is where apps are, if not where they run.
function graph.describe(cpus)
  local c = engine.configuration
  cpus = cpus or c.cpus or {}
  local regions, number_of, reasons = regions_of(c, cpus)
  local class_names, apps, links = names_of_classes(), {}, {}
  for i, name in ipairs(config.sorted_keys(c.apps)) do
    local app = c.apps[name]
    apps[i] = {name = name, class = class_names[app.class], port = port_of(app),
      cpu = cpus[name], region = number_of[name], why = reasons[name],
      pulls = app.class.pull ~= nil or nil}
  end
  for i, spec in ipairs(config.sorted_keys(c.links)) do
    local from, output, to, input = config.parse_link(spec)
    links[i] = {link = spec, from = from, output = output, to = to, input = input}
  end
  return {apps = apps, links = links, regions = regions}
end

return graph
