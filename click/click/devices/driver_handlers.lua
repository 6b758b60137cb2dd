-- SPDX-License-Identifier: Apache-2.0
-- Handlers that show what a device's driver reports beyond the usual statistics. Each
-- is given ask(element, f), which returns f(port) of the element's device, nil if it
-- isn't open.

local C = require("core.native")
local ffi = require("ffi")

local driver_handlers = {}

-- The driver's own statistics: a list of {name, value}.
local function all_statistics(self, ask)
  return ask(self, function (port)
    local n = C.pg_port_xstats(port, nil, 0)
    local stats = n > 0 and ffi.new("struct port_xstat[?]", n)
    local list = {}
    for i = 0, (stats and math.min(n, C.pg_port_xstats(port, stats, n)) or 0) - 1 do
      list[i + 1] = {ffi.string(stats[i].name), tonumber(stats[i].value)}
    end
    return list
  end) or {}
end

-- All of them, "NAME[ID] = VALUE" in lines, or the value of the one of that name.
local function xstats_text(self, ask, name)
  local lines = {}
  for i, stat in ipairs(all_statistics(self, ask)) do
    if stat[1] == name then return stat[2] end
    lines[i] = ("%s[%d] = %.0f\n"):format(stat[1], i - 1, stat[2])
  end
  if name == "" then return table.concat(lines) end
  return nil, ("there is no statistic '%s'"):format(name)
end

-- Packets that wait in the device's queues, or in the one of that number.
local function queue_text(self, ask, number)
  local function count(queue)
    return ask(self, function (port) return C.pg_port_queue_count(port, queue) end) or 0
  end
  if number ~= "" then
    local queue = tonumber(number)
    if queue and queue >= 0 and queue < 65536 then return count(queue) end
    return nil, ("'%s' is no number of a queue"):format(number)
  end
  local lines = {}
  for i = 1, self.device and #self.device.receivers or 0 do
    lines[i] = ("Queue %d: %d\n"):format(i - 1, count(i - 1))
  end
  return table.concat(lines)
end

--- The handler `xstats`.
function driver_handlers.xstats(ask)
  return {param = true, read = function (self, name)
    return xstats_text(self, ask, name)
  end}
end

--- The handler `queue_count`.
function driver_handlers.queue_count(ask)
  return {param = true, read = function (self, number)
    return queue_text(self, ask, number)
  end}
end

return driver_handlers
