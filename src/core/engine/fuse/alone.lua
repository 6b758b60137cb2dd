-- SPDX-License-Identifier: Apache-2.0
-- Per-packet apps by themselves, between links: bulk apps, and all of them when
-- nothing is fused. Also what a fused region must do exactly as well as this.

local ffi = require("ffi")
local C = require("core.native")
local config = require("core.config")
local link = require("core.link")
local packet = require("core.packet")

local alone = {}

local BURST = C.PORT_BURST

-- Count a packet that the app drops, and free it.
local function drop(app, reason, p)
  local reasons = app.drops or {}
  local name = reason and reasons[reason] or "dropped"
  app.dropped = app.dropped or {}
  app.dropped[name] = (app.dropped[name] or 0) + 1
  packet.free(p)
end

local function pass(app, outputs, p, o)
  local l = app.output[outputs[o or 1]]
  if l then
    link.transmit(l, p)
  else
    app.dropped = app.dropped or {}
    local name = "no link at " .. tostring(outputs[o or 1])
    app.dropped[name] = (app.dropped[name] or 0) + 1
    packet.free(p)
  end
end

local function process_all(app, outputs, l, n)
  for _ = 1, n do
    local p = link.receive(l)
    local q, o = app:process(p)
    if q == nil then drop(app, o, p) else pass(app, outputs, q, o) end
  end
end

local function push(app)
  local outputs = app.outputs or {"output"}
  for i = 1, #app.input do
    process_all(app, outputs, app.input[i], link.nreadable(app.input[i]))
  end
end

-- Bulk: route[i] is the number of the output for packet i, 0 to drop it.
local packets = ffi.new("struct packet *[?]", BURST)
local route = ffi.new("uint8_t[?]", BURST)

local function pass_all(app, outputs, n)
  for i = 0, n - 1 do
    if route[i] == 0 then
      drop(app, nil, packets[i])
    else
      pass(app, outputs, packets[i], route[i])
    end
  end
end

local function receive_all(l, n)
  for i = 0, n - 1 do packets[i] = link.receive(l) end
end

local function push_burst(app)
  local outputs = app.outputs or {"output"}
  for i = 1, #app.input do
    local l = app.input[i]
    local n = math.min(link.nreadable(l), BURST)
    if n > 0 then
      receive_all(l, n)
      ffi.fill(route, n, 1)
      app:process_burst(packets, n, route)
      pass_all(app, outputs, n)
    end
  end
end

--- The push(app) of a per-packet or bulk app that isn't fused, or nil.
function alone.push_of(app)
  return app.process_burst and push_burst or app.process and push
end

--- Move what waits in the links inside the region `found` on, app by app in
--- topological order, so that they are empty when it is fused.
function alone.drain(found, apps, links)
  local waiting = false
  for spec in pairs(found.inner) do
    waiting = waiting or not link.empty(links[spec])
  end
  if not waiting then return end
  for _, name in ipairs(found.apps) do
    for _, spec in ipairs(config.sorted_keys(found.inner)) do
      local _, _, to = config.parse_link(spec)
      if to == name then
        local app, l = apps[name], links[spec]
        process_all(app, app.outputs or {"output"}, l, link.nreadable(l))
      end
    end
  end
end

return alone
