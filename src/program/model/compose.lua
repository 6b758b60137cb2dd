-- SPDX-License-Identifier: Apache-2.0
-- Puts a prediction together for a graph that wasn't measured: C_IO of its ports, from
-- the table of `perigee model`, and C_task of its apps, measured apart from them. Pure.

local kinds = require("lib.port.kinds")

local compose = {}

-- Some kinds of port the table has under the name of their other end.
local function find(result, port)
  local kind = kinds.of(port)
  kind = kind.measured_as or kind.name
  for _, measured in ipairs(result.ports) do
    if (measured.name == kind or measured.name == port.text) and measured.cells[1]
        and measured.cells[1].receive then
      return measured
    end
  end
end

-- The cell of the smallest frames whose burst is nearest to `burst`.
local function nearest(cells, burst)
  local best
  for _, cell in ipairs(cells) do
    local off = math.abs(math.log(cell.burst / burst))
    if cell.size == cells[1].size and (not best or off < best.off) then
      best = {off = off, cell = cell}
    end
  end
  return best.cell
end

-- How much more a part ("receive" or "send") takes for frames of `size` than for the
-- smallest: between the sizes that were measured, in proportion.
local function more(cells, part, size)
  local last = cells[#cells]
  local list = {}
  for _, cell in ipairs(cells) do
    if cell.burst == last.burst and cell[part] then list[#list + 1] = cell end
  end
  table.sort(list, function (a, b) return a.size < b.size end)
  for i = 1, #list - 1 do
    local a, b = list[i], list[i + 1]
    if size <= b.size or i == #list - 1 then
      local at = math.max(0, math.min(1, (size - a.size) / (b.size - a.size)))
      return a[part] + at * (b[part] - a[part]) - list[1][part]
    end
  end
  return 0
end

-- TSC cycles of a packet in a part, for a port as described.
local function part_of(measured, part, burst, size)
  return nearest(measured.cells, burst)[part] + more(measured.cells, part, size)
end

--- TSC cycles of CPU time of a packet received, and how they come together: `result` is
--- what `perigee model` wrote; `ports` is a list of {name, kind, text, burst}; `tasks`
--- has task, engine, and ports = {name, received, sent (a packet), in_size, out_size}.
--- {cycles, receive, send, task, engine}; or nil and why not. All of these are means of
--- samples, with the interrupts that fell into them, as CPU time has.
function compose.predict(result, ports, tasks)
  local by_name, p = {}, {receive = 0, send = 0, task = tasks.task,
                          engine = tasks.engine}
  for _, port in ipairs(ports) do by_name[port.name] = port end
  for _, share in ipairs(tasks.ports) do
    local port = by_name[share.name]
    local measured = find(result, port)
    if not measured then
      return nil, ("the table has no port of the kind of '%s'"):format(port.text)
    end
    p.receive = p.receive + share.received
      * part_of(measured, "receive", port.burst, share.in_size)
    p.send = p.send + share.sent * part_of(measured, "send", port.burst, share.out_size)
  end
  p.cycles = p.receive + p.send + p.task + p.engine
  return p
end

return compose
