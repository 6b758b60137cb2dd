-- SPDX-License-Identifier: Apache-2.0
-- Bulk apps: process_burst(packets, n, route) is called once for a burst from a link,
-- and says for each packet where it goes: 0 and up are outputs, -1 and down drops.

local ffi = require("ffi")
local C = require("core.native")
local drops = require("core.fuse.drops")
local link = require("core.link")
local packet = require("core.packet")
local pool = require("core.pool")
local repush = require("core.repush")
local running_app = require("core.watch.running_app")

local bulk = {}

local BURST = C.PORT_BURST
local CODES = 256 -- of a route: a byte, in which -k is CODES - k
local ONE_OUTPUT = {"output"}
local NONE = {}
local ROOM = C.LINK_MAX_PACKETS - BURST -- packets in a link that has room for a burst

local array_t = ffi.typeof("struct packet *[?]")
local route_t = ffi.typeof("uint8_t[?]")
local lost = ffi.new("int32_t[?]", CODES) -- of the burst, by code
local free, fill = packet.free, ffi.fill

-- What compiled code needs for each burst is kept as pointers in upvalues, which LuaJIT
-- takes for constants; larger cdata it loads anew.
local array_p, route_p = ffi.typeof("struct packet **"), ffi.typeof("uint8_t *")
local link_p, port_p = ffi.typeof("struct link *"), ffi.typeof("struct port *")
local account = ffi.cast("struct freelist *", pool.freelist)

-- By the functions that call an app's process_burst: what the function has pointers to.
local kept_for = setmetatable({}, {__mode = "k"})

-- Count the app's `lost` packets of this code as dropped for the reason; how many.
local function settle(app, code, reason)
  local n = lost[code]
  if n > 0 then
    drops.add(app, reason, n)
    lost[code] = 0
  end
  return n
end

-- Count the `n` packets that are lost.
local function settle_all(app, outputs, n)
  local reasons = app.drops or NONE
  n = n - settle(app, 0, "dropped")
  for k = 1, #reasons do n = n - settle(app, CODES - k, reasons[k]) end
  for o = 1, #outputs do
    if lost[o] > 0 then n = n - settle(app, o, "no link at " .. outputs[o]) end
  end
  if n == 0 then return end
  for code = 1, CODES - 1 do settle(app, code, "no such output") end
end

local told -- see core.fuse.unfused

--- As alone.tell_losses, of bulk apps.
function bulk.tell_losses(f) told = f end

-- Why the app drops a packet with this code.
local function reason_of(app, outputs, code)
  if code == 0 then return "dropped" end
  if outputs[code] then return "no link at " .. outputs[code] end
  return (app.drops or NONE)[CODES - code] or "no such output"
end

-- Drop those of `n` packets that no link has taken: `rest` of them.
local function drop_rest(app, outputs, packets, route, n, rest)
  for i = 0, n - 1 do
    local code = route[i]
    local name = outputs[code]
    if not (name and app.output[name]) then
      lost[code] = lost[code] + 1
      if told then told(app.appname, reason_of(app, outputs, code), packets[i]) end
      free(packets[i])
    end
  end
  settle_all(app, outputs, rest)
end

local watched = false

--- Let all packets pass the links, where taps (lib.control.taps) look at them; or no
--- longer.
function bulk.watch(wanted) watched = wanted end

-- What takes a burst from a link, or its port, lets the app route it, and passes it on;
-- returns whether the burst was full. By output, `links` has a pointer, or false,
-- `chosen` an array for those that go there, and `to_ports` the port or false.
local function step_of(app, outputs, packets, route, links, chosen, to_ports)
  return function (l, port)
    for o = 1, #links do
      local out = links[o]
      if out and out.nhanded > 0 then C.pg_queue_handed(account, out) end
    end
    local n = port and C.pg_fetch_counted(port, l, packets, BURST)
      or C.pg_accept_counted(account, l, packets)
    if n == 0 then return false end
    fill(route, n, 1)
    app:process_burst(packets, n, route)
    local passed = 0
    for o = 1, #links do
      local out, to_port = links[o], to_ports[o]
      if passed == n then break end
      if to_port and not watched then
        passed = passed
          + C.pg_send_routed(to_port, out, packets, n, route, o, chosen[o])
      elseif out then
        passed = passed
          + C.pg_hand_routed(account, out, packets, n, route, o, chosen[o])
      end
    end
    if passed < n then drop_rest(app, outputs, packets, route, n, n - passed) end
    return n == BURST
  end
end

local NO_PORTS = {}

--- The push(app) of the bulk app, for the links it has now. `ports` are those at the
--- other ends of links, by link: a burst is received from or sent to them directly.
function bulk.push_of(app, ports)
  ports = ports or NO_PORTS
  local outputs, kept = app.outputs or ONE_OUTPUT, {}
  local function pointer(kind, to)
    if not to then return false end
    kept[#kept + 1] = to
    return ffi.cast(kind, to)
  end
  local inputs, from_ports, links, chosen, to_ports = {}, {}, {}, {}, {}
  for i, l in ipairs(app.input) do
    inputs[i], from_ports[i] = pointer(link_p, l), pointer(port_p, ports[l])
  end
  for o, name in ipairs(outputs) do
    local l = app.output[name]
    links[o], to_ports[o] = pointer(link_p, l), l and pointer(port_p, ports[l])
    chosen[o] = pointer(array_p, array_t(BURST))
  end
  kept.packets = pointer(array_p, array_t(BURST))
  local step = step_of(app, outputs, kept.packets, pointer(route_p, route_t(BURST)),
    links, chosen, to_ports)
  kept_for[step] = kept
  running_app.caller(step, "process_burst", app, function (variables)
    local list = {}
    for i = 1, variables.n do list[i] = kept.packets[i - 1] end
    return list
  end)
  local nreadable = link.nreadable
  local function take_all(l)
    for _ = 1, nreadable(l) + l.nhanded, BURST do step(l, false) end
  end
  -- Is there room for another burst in all links that aren't direct?
  local function has_room()
    for o = 1, #links do
      local out = links[o]
      if out and not to_ports[o]
        and (out.direct ~= 0 or nreadable(out) > ROOM) then return false end
    end
    return true
  end
  local function receive_all(l, port)
    if watched then -- what comes now is seen before the next call
      take_all(l)
      C.pg_receive(port, l)
      return
    end
    for _ = 1, repush.MOST do
      if not (step(l, port) and has_room()) then return end
    end
  end
  return function ()
    for i = 1, #inputs do
      if from_ports[i] then
        receive_all(inputs[i], from_ports[i])
      else
        take_all(inputs[i])
      end
    end
  end
end

return bulk
