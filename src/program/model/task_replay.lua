-- SPDX-License-Identifier: Apache-2.0
-- A program's tasks apart from its ports, in processes of their own: the first packets
-- that each port brings are kept (`perigee model record`), and come again and again out
-- of memory (`perigee model tasks`), while the account of cycles looks at the apps.

local cjson = require("cjson")
local config = require("core.config")
local cycles_report = require("core.watch.cycles_report")
local engine = require("core.app")
local instrument = require("program.model.instrument")
local pool = require("core.pool")
local Port = require("apps.port.port").Port
local writer = require("lib.pcap.writer")

local M = {}

local KEPT = 2048 -- packets of a port
local RECORD_S, WARM_UP = 0.3, 0.3
local CRC = 4

-- Writes the first packets to a file, and passes all on.
local Keep = {}
Keep.__index = Keep
function Keep:new(path)
  return setmetatable({file = writer.new(path), left = KEPT}, self)
end
function Keep:begin() self.file:create() end
function Keep:process(p)
  if self.left > 0 then
    self.left = self.left - 1
    self.file:write(p.data, p.length, p.length, 0)
  end
  return p
end
function Keep:stop() self.file:close() end

local function path_of(folder, name)
  return ("%s/%s.pcap"):format(folder, (name:gsub("[^%w_]", "_")))
end

local function say(message)
  io.write(cjson.encode(message), "\n")
  io.flush()
end

-- The apps of a configuration that are ports, by name.
local function port_names()
  local names = {}
  for name, app in pairs(engine.app_table) do
    if app.direct and app.port then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

--- Run the program, and write what its ports bring into `folder`. Tells the kind and
--- burst of each port, and how many packets of it were kept.
function M.record(folder, program, args)
  local keepers
  instrument.run(program, args, RECORD_S, function (c)
    keepers = {}
    return instrument.behind_ports(c, Keep, function (source)
      keepers[source.name] = "model_load_" .. source.name .. "_" .. source.output
      return path_of(folder, source.name)
    end)
  end, function (run)
    run(RECORD_S)
    local ports = {}
    for i, name in ipairs(port_names()) do
      local app, keeper = engine.app_table[name], engine.app_table[keepers[name]]
      ports[i] = {name = name, kind = app.description.kind, text = app.description.text,
                  burst = app.port.burst, kept = keeper and KEPT - keeper.left or 0}
    end
    say{type = "ports", ports = ports, done = true}
  end)
end

-- The configuration with each port in the place of which there is a file of packets, or
-- one that brings none.
local function replaced(c, folder)
  local new, brings = config.new(), {}
  for _, source in ipairs(instrument.sources(c)) do brings[source.name] = true end
  for name, app in pairs(c.apps) do
    local path = path_of(folder, name)
    if not app.class.direct then
      config.app(new, name, app.class, app.arg)
    elseif not brings[name] then
      config.app(new, name, Port, "null")
    elseif io.open(path .. ".empty") then
      config.app(new, name, Port, "pcap:tx=/dev/null")
    else
      config.app(new, name, Port, ("pcap:rx=%s,loop=1"):format(path))
    end
  end
  for spec in pairs(c.links) do config.link(new, spec) end
  return new
end

local function counted(ports)
  for _, name in ipairs(port_names()) do
    local device = engine.app_table[name].port
    ports[name] = {
      received = tonumber(device.rxpackets), sent = tonumber(device.txpackets),
      in_bytes = tonumber(device.rxbytes), out_bytes = tonumber(device.txbytes)}
  end
  return ports
end

-- What of each port went in and out between, a packet received, with the mean sizes.
local function shares(before, now, packets)
  local list = {}
  local function size(bytes, n) return n > 0 and bytes / n + CRC or 64 end
  for name, b in pairs(before) do
    local n = now[name]
    local received, sent = n.received - b.received, n.sent - b.sent
    list[#list + 1] = {
      name = name, received = received / packets, sent = sent / packets,
      in_size = size(n.in_bytes - b.in_bytes, received),
      out_size = size(n.out_bytes - b.out_bytes, sent)}
  end
  return list
end

--- Run the program with the packets in `folder` for so many seconds, and tell what its
--- tasks take.
function M.tasks(folder, seconds, program, args)
  instrument.run(program, args, seconds, function (c) return replaced(c, folder) end,
    function (run)
      run(seconds * WARM_UP)
      cycles_report.begin()
      local before, received = counted{}, tonumber(pool.freelist.received)
      run(seconds)
      local packets = tonumber(pool.freelist.received) - received
      local spent = cycles_report.since()
      say{type = "tasks", done = true, task = spent and spent.task,
          engine = spent and spent.engine,
          ports = shares(before, counted{}, packets)}
    end)
end

--- Say of a port that none of its packets were kept.
function M.none(folder, name)
  local path = path_of(folder, name)
  assert(io.open(path .. ".empty", "w")):close()
end

return M
