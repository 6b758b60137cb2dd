-- SPDX-License-Identifier: Apache-2.0
-- The lwAFTR that this process runs, as `run` and `bench` have it: its configuration,
-- the binding table, and the graph made of them. What changes it either works, or
-- raises a failure and leaves everything as it was.

local engine = require("core.app")
local Binding = require("apps.lwaftr.binding")
local queues = require("program.lwaftr.queues")

local Router = {}
Router.__index = Router

--- A router with the configuration `conf` (apps.lwaftr.conf_reader). `graph(list,
--- binding)` makes a core.config of the lwAFTRs `list` (program.lwaftr.queues), which
--- look into the `binding` (apps.lwaftr.binding). Nothing runs yet.
function Router.new(conf, graph)
  local binding = Binding.new(conf.softwire_config.binding_table.softwires)
  return setmetatable({conf = conf, make = graph, list = {}, listeners = {},
    binding = binding}, Router)
end

--- Call heard(router) after each change, and now.
function Router:listen(heard)
  table.insert(self.listeners, heard)
  heard(self)
end

function Router:tell()
  self.changed = os.time()
  for _, heard in ipairs(self.listeners) do heard(self) end
end

local function claim(name)
  if name and name ~= engine.program_name then engine.claim_name(name) end
end

--- Run the configuration `conf`, whose softwires aren't looked at: the binding table
--- stays.
function Router:configure(conf)
  local before = engine.program_name
  local list = queues.list(conf)
  local c = self.make(list, self.binding)
  claim(conf.softwire_config.name)
  local ok, err = pcall(engine.configure, c)
  if not ok then
    if not before and engine.program_name then engine.unclaim_name() end
    claim(before)
    error(err, 0)
  end
  conf.softwire_config.binding_table.softwires = self.binding
  self.conf, self.list = conf, list
  self:tell()
end

--- Another whole binding table (apps.lwaftr.softwires) in the place of the present one.
function Router:swap(softwires)
  self.binding:swap(softwires)
  self:tell()
end

return Router
