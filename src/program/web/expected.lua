-- SPDX-License-Identifier: Apache-2.0
-- What the model (doc/model.md) expects of a running graph, next to what is measured:
-- the packets a second that its cycles allow, and, with the table that `perigee model`
-- has written, what its ports should take. Pure, but for reading that table.

local compose = require("program.model.compose")
local predict = require("program.model.predict")
local spec = require("lib.port.spec")

local expected = {}

local CRC = 4 -- bytes
local WORK = {receive = true, send = true, engine = true}

-- Cycles of a packet that were measured: receive, send, engine and task; nil if too few
-- packets come.
local function measured_of(now)
  local sums = {receive = 0, send = 0, engine = 0, task = 0}
  local any = false
  for _, c in ipairs(now.cycles or {}) do
    if c.cycles and (WORK[c.name] or c.app) then
      local part = WORK[c.name] and c.name or "task"
      sums[part] = sums[part] + c.cycles
      any = true
    end
  end
  if not any then return nil end
  sums.cycles = sums.receive + sums.send + sums.engine + sums.task
  return sums
end

local function counter(now, app, name)
  for _, c in ipairs(now.apps[app] and now.apps[app].counters or {}) do
    if c.name == name then return c.pps end
  end
  return 0
end

-- The ports, and what each receives and sends of a packet.
local function shares_of(now, graph)
  local ports, shares, received = {}, {}, 0
  for _, app in ipairs(graph.apps) do
    if app.port then received = received + counter(now, app.name, "rxpackets") end
  end
  if received == 0 then return nil end
  for _, app in ipairs(graph.apps) do
    if app.port then
      local port = spec.parse(app.port)
      port.name, port.burst = app.name, math.max(1, now.engine.burst)
      ports[#ports + 1] = port
      local function size(bytes, n) return n > 0 and bytes / n + CRC or 64 end
      local rx, tx = counter(now, app.name, "rxpackets"),
        counter(now, app.name, "txpackets")
      shares[#shares + 1] = {name = app.name, received = rx / received,
        sent = tx / received, in_size = size(counter(now, app.name, "rxbytes"), rx),
        out_size = size(counter(now, app.name, "txbytes"), tx)}
    end
  end
  return ports, shares
end

--- For what live.of says, and the graph (lib.observe.graph): {measured = {receive =,
--- send =, engine =, task =, cycles =} of a packet, in TSC cycles, allowed = packets a
--- second that one CPU could do at that, predicted = the same as `measured` from the
--- table in `file`, why = why there is no prediction}; nil while too few packets come.
function expected.of(now, graph, file)
  local measured = measured_of(now)
  if not measured or measured.cycles <= 0 then return nil end
  local result = {measured = measured, allowed = now.tsc_hz / measured.cycles}
  local table_of, why = predict.read(file)
  if not table_of then
    result.why = why
    return result
  end
  local ok, ports, shares = pcall(shares_of, now, graph)
  if not ok or not ports then
    result.why = "no port of the graph receives packets"
    return result
  end
  local predicted, problem = compose.predict(table_of, ports,
    {task = measured.task, engine = measured.engine, ports = shares})
  result.predicted, result.why = predicted, problem
  return result
end

return expected
