-- SPDX-License-Identifier: Apache-2.0
-- For specs of fused regions: configurations put together from tables, where apps
-- called "in" and "out" are idle ones whose links the spec fills and empties.

local breath = require("core.engine.breath")
local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")

local regions = {}

regions.Idle = {new = function () return {} end}

--- A class of the fields, with a new() that keeps the argument as `arg`.
function regions.class(fields)
  fields.new = fields.new or function (self, arg)
    return setmetatable({arg = arg}, {__index = self})
  end
  return fields
end

regions.Pass = regions.class{process = function (_, p) return p end}

--- push() of Snabb's form.
function regions.forward(self)
  local i, o = self.input.input, self.output.output
  while not link.empty(i) do
    local p = link.receive(i)
    link.transmit(o, p)
  end
end

--- apps: {name = {class, arg}}; links: texts. "in" and "out" are idle apps.
function regions.configuration(apps, links)
  local c = config.new()
  for name, app in pairs(apps) do config.app(c, name, unpack(app)) end
  for _, spec in ipairs(links) do
    config.link(c, spec)
    for _, name in ipairs{"in", "out"} do
      if not c.apps[name] and (" " .. spec):match("%s" .. name .. "%.") then
        config.app(c, name, regions.Idle)
      end
    end
  end
  return c
end

function regions.run(apps, links)
  engine.configure(regions.configuration(apps, links))
end

--- The same, with nothing of what ran before.
function regions.run_anew(apps, links)
  engine.configure(config.new())
  regions.run(apps, links)
end

--- From a null port through the app `name` of that class and back.
function regions.on_null(name, class)
  local Port = require("apps.port.port").Port
  regions.run({port = {Port, "null"}, [name] = {class}},
    {"port.output -> " .. name .. ".input", name .. ".output -> port.input"})
end

--- A chain in -> a1 -> ... -> an -> out of the class.
function regions.chain(n, kind, apps, links)
  apps, links = apps or {}, links or {}
  local from = "in"
  for i = 1, n do
    apps["a" .. i] = {kind}
    links[#links + 1] = ("%s.output -> a%d.input"):format(from, i)
    from = "a" .. i
  end
  links[#links + 1] = from .. ".output -> out.input"
  return apps, links
end

--- After each test.
function regions.tear_down()
  engine.fuse = true
  engine.configure(config.new())
end

--- A clock of its own for breaths: take(seconds) says how many breaths follow one which
--- began so long before; grow() makes them more.
function regions.breaths()
  local now = 0
  local function take(seconds)
    now = now + seconds
    return breath.take(now)
  end
  return take, function ()
    for _ = 1, 8 do take(1e-7) end
  end
end

return regions
