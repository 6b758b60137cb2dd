-- SPDX-License-Identifier: Apache-2.0
-- Signals: what an element knows of its packets and others may ask, without pulling or
-- pushing. A queue's `signal` is active while it may have packets; its `full_signal`
-- while it has room. Elements that pull look upstream for the first kind, those that
-- push by themselves look downstream for the second, and sleep while none is active.
--
-- A class says what it has with notifies = "empty", "full" or "both". With notifies_on
-- = "through" (schedulers that hold packets themselves), what is behind it wakes
-- listeners as well. `silent` says that an element without ports on the other side
-- never makes packets by itself.

local ports = require("click.router.ports")

local Signal = {}
Signal.__index = Signal

local NONE = {}

local signals = {}

--- A signal, active or not.
function signals.new(active)
  return setmetatable({active = active, listeners = {}}, Signal)
end

--- Set it; those who listen are woken when it becomes active (unless `quietly`).
function Signal:set(active, quietly)
  if active == self.active then return end
  self.active = active
  for _, gate in ipairs(self.gates or NONE) do gate:refresh() end
  if not active or quietly then return end
  for _, wake in ipairs(self.listeners) do wake() end
end

--- Call wake() whenever it becomes active.
function Signal:listen(wake) table.insert(self.listeners, wake) end

-- What is always active: it stands for elements that don't tell.
local BUSY = setmetatable({active = true, listeners = {}, busy = true}, Signal)
signals.BUSY = BUSY

local FIELD = {empty = "signal", full = "full_signal"}

--- Give the element the signals that its class has.
function signals.prepare(e)
  local has = e.class.notifies
  if has == "empty" or has == "both" then e.signal = signals.new(true) end
  if has == "full" or has == "both" then e.full_signal = signals.new(true) end
end

-- Searching --------------------------------------------------------------

local function flow_of(e)
  local flow = e.class.flow
  return type(flow) == "function" and flow(e) or flow
end

-- The ports on the other side that `port` of the element leads to or comes from.
local function other_side(e, is_output, port)
  local list = {}
  for k = 1, is_output and e.ninputs or e.noutputs do
    local i, o = is_output and k or port, is_output and port or k
    if ports.flows(flow_of(e), i, o) then list[#list + 1] = k end
  end
  return list
end

-- A letter says "active" of a port: it pushes or pulls by itself.
local function is_active(e, is_output, port)
  local letters = is_output and e.processing.outputs or e.processing.inputs
  local letter = letters:sub(port, port)
  if is_output then return letter ~= "l" end
  return letter == "l"
end

-- Look at one port found: add its signal to `search`; the ports to go on from.
local function visit(search, e, is_output, port)
  local signal = rawget(e, FIELD[search.kind])
  local active = is_active(e, is_output, port)
  if signal and not active then
    if not search.found[signal] then
      search.found[signal] = true
      table.insert(search.list, {signal = signal, heard = search.behind == 0})
    end
    local on = e.class.notifies_on == "through"
    return on and other_side(e, is_output, port) or {}, true
  end
  local others = active and {} or other_side(e, is_output, port)
  if active or #others == 0 and not e.class.silent then
    search.busy = search.busy or search.behind == 0
  end
  return others
end

local function walk(search, e, port, seen)
  local is_output = search.kind == "empty" -- of the elements found
  for _, far in ipairs(search.router:joined(e, not is_output, port)) do
    local key = far.element.index .. ":" .. far.port
    if not seen[key] then
      seen[key] = true
      local others, through = visit(search, far.element, is_output, far.port)
      if through then search.behind = search.behind + 1 end
      for _, k in ipairs(others) do walk(search, far.element, k, seen) end
      if through then search.behind = search.behind - 1 end
    end
  end
end

--- The signals of `kind` ("empty": upstream of input `port`; "full": downstream of
--- output `port`) that concern the element: a list. BUSY alone, if there is a way on
--- which none is. wake() is called when one becomes active.
function signals.find(router, e, port, kind, wake)
  local search = {router = router, kind = kind, list = {}, found = {}, behind = 0}
  walk(search, e, port, {})
  if search.busy then return {BUSY} end
  local list = {}
  for _, entry in ipairs(search.list) do
    if entry.heard then list[#list + 1] = entry.signal end
    if wake and entry.signal.listen then entry.signal:listen(wake) end
  end
  return list
end

--- Is one of the list active?
function signals.any(list)
  for i = 1, #list do
    if list[i].active then return true end
  end
  return false
end

-- Several signals as one: active while one of them is.
local Gate = {}
Gate.__index = Gate

function Gate:refresh() self.active = signals.any(self.members) end

--- One object whose `active` says whether one of the list is active: what to look at
--- for each packet.
function signals.gate(list)
  if #list == 1 then return list[1] end
  local gate = setmetatable({members = list}, Gate)
  for _, signal in ipairs(list) do
    signal.gates = signal.gates or {}
    table.insert(signal.gates, gate)
  end
  gate:refresh()
  return gate
end

return signals
