-- SPDX-License-Identifier: Apache-2.0
-- For --check: the methods of apps. While one is at work it is known which; what
-- process() and process_burst() make of their packets is looked at.

local failure = require("core.lib.failure")
local ffi = require("ffi")
local place = require("core.check.place")
local record = require("core.check.record")

local apps = {}

local METHODS = {"pull", "push", "tick", "link", "unlink", "reconfig", "report", "stop"}
local CODES = 256 -- of a route: -k is CODES - k

local wrapped = setmetatable({}, {__mode = "k"}) -- functions made here

local function leave(app, ok, ...)
  place.app = app
  if not ok then error((...), 0) end
  return ...
end

--- Call f(...), which is a method of the app `name`. What it raises comes with its own
--- traceback.
function apps.within(name, f, ...)
  local app = place.app
  place.app = name
  return leave(app, xpcall(f, failure.explain, ...))
end

local ONE_OUTPUT, NONE = {"output"}, {}

local function listed(names)
  return #names == 0 and "none" or table.concat(names, ", ")
end

-- self.emit(o, p) of the app, which the engine sets anew now and then.
local function guard_emit(app)
  local emit = app.emit
  if wrapped[emit] then return end
  function app.emit(o, p)
    record.check_own(p, "emit")
    record.check_sound(p, "emit")
    local outputs = app.outputs or ONE_OUTPUT
    if not outputs[o] then
      record.misuse("emit(%s, p): that is none of its class's outputs: %s", tostring(o),
        listed(outputs))
    end
    local at = place.here()
    record.set(p, "held", "emitted it", nil, at)
    emit(o, p)
    local r = record.of(p) -- others may have freed, sent or kept it by now
    if r.state ~= "held" or r.kept then return end
    if r.what ~= "emitted it" then record.set(p, "held", "emitted it", nil, at) end
    r.state = "emitted"
  end
  wrapped[app.emit] = true
end

local function within(name, f)
  local function call(app, ...)
    if type(app) == "table" and app.emits then guard_emit(app) end
    return apps.within(name, f, app, ...)
  end
  wrapped[call] = true
  return call
end

-- Raise what is wrong with what the function that begins at `at` has returned.
local function fault(at, ...) error(record.failure(at, ...), 0) end

-- process(p) -----------------------------------------------------------------------

-- It returned nothing, so the engine frees `p`; `o` is one of its drops, or nil.
local function check_drop(app, p, q, o, at)
  if type(q) == "cdata" then fault(at, "process() returned a NULL packet") end
  local r = record.of(p)
  if r and r.state ~= "held" then
    fault(at, "process() returned nothing for a packet that is its own no more: %s; "
      .. "return nil for a packet that is to be dropped, without freeing it",
      record.history(r))
  end
  local drops = app.drops or NONE
  if o ~= nil and o ~= 0 and not drops[o] then
    fault(at, "process() returned nil and %s, which is none of its class's drops: %s",
      tostring(o), listed(drops))
  end
  record.set(p, "held", "dropped it in process()", nil, at).dropped = true
end

local function check_pass(app, q, o, at)
  local ok, err = pcall(function ()
    record.check_own(q, "process() returned it")
    record.check_sound(q, "process() returned it")
  end)
  if not ok then -- which is told to be here
    err.sentence = err.sentence:gsub("^.-:%d+: ", at .. ": ")
    error(err, 0)
  end
  local outputs = app.outputs or ONE_OUTPUT
  if o ~= nil and not outputs[o] then
    fault(at, "process() returned a packet and %s, which is none of its class's "
      .. "outputs: %s", tostring(o), listed(outputs))
  end
  record.set(q, "held", "passed it on in process()", nil, at)
end

-- It returned false: the app keeps the packet, or has emitted or freed it.
local function check_keep(p, at)
  local r = record.of(p)
  if r and r.state == "held" then
    record.set(p, "held", "kept it in process()", nil, at).kept = true
  end
end

local function process(name, f)
  local at = place.of(f)
  local function check(app, p, q, o, ...)
    if q == nil then
      check_drop(app, p, q, o, at)
    elseif q then
      check_pass(app, q, o, at)
    else
      check_keep(p, at)
    end
    return q, o, ...
  end
  return within(name, function (app, p, ...)
    record.check_use(p, "process(p)")
    local r = record.of(p)
    if not r or r.owner ~= name then
      record.set(p, "held", "got it in process()", nil, at)
    end
    return check(app, p, f(app, p, ...))
  end)
end

-- process_burst(packets, n, route) ---------------------------------------------------

-- Packet number `i` of `n` is `p` now, and was `before`.
local function check_same(p, before, i, n, at)
  if p == nil then
    fault(at, "process_burst() put a NULL pointer in the place of packet %d of %d; it "
      .. "was: %s", i, n, record.history(record.of(before)))
  elseif p ~= before then
    fault(at, "process_burst() put another packet in the place of packet %d of %d, "
      .. "which it may not", i, n)
  end
  local r = record.of(p)
  if r.state ~= "held" then
    fault(at, "packet %d of %d isn't here any more after process_burst(), which may "
      .. "not free, send or keep packets: %s", i, n, record.history(r))
  end
  record.check_sound(p, "process_burst()")
end

local function check_route(app, p, code, i, at)
  local outputs, drops = app.outputs or ONE_OUTPUT, app.drops or NONE
  if code ~= 0 and not outputs[code] and not drops[CODES - code] then
    fault(at, "process_burst() set route[%d] to %d: it is 1 to %d for the outputs "
      .. "(%s), 0 to drop the packet, or -1 to -%d for the drops (%s)", i,
      code > CODES / 2 and code - CODES or code, #outputs, listed(outputs), #drops,
      listed(drops))
  end
  local passed = code ~= 0 and outputs[code] ~= nil
  record.set(p, "held", (passed and "passed it on" or "dropped it")
    .. " in process_burst()", nil, at).dropped = not passed
end

local function process_burst(name, f)
  local at = place.of(f)
  return within(name, function (app, packets, n, route, ...)
    local before = ffi.new("struct packet *[?]", n)
    for i = 0, n - 1 do
      before[i] = packets[i]
      record.set(packets[i], "held", "got it in process_burst()", nil, at)
    end
    f(app, packets, n, route, ...)
    for i = 0, n - 1 do
      check_same(packets[i], before[i], i, n, at)
      check_route(app, packets[i], route[i], i, at)
    end
  end)
end

-- An app --------------------------------------------------------------------------

local SPECIAL = {process = process, process_burst = process_burst}

local function is_new(f) return type(f) == "function" and not wrapped[f] end

local function wrap(app, name)
  app.bound = false -- the functions made here ask for the app
  for _, method in ipairs(METHODS) do
    local f = app[method]
    if is_new(f) then rawset(app, method, within(name, f)) end
  end
  for method, make in pairs(SPECIAL) do
    local f = app[method]
    if is_new(f) then rawset(app, method, make(name, f)) end
  end
  for input, f in pairs(app.push_link or NONE) do
    if is_new(f) then app.push_link[input] = within(name, f) end
  end
end

--- The methods of `app`, which has just been made, are looked after from now on.
function apps.guard(app, name)
  wrap(app, name)
  -- These may change others.
  for _, method in ipairs{"link", "unlink", "reconfig"} do
    local f = rawget(app, method)
    if f then
      local function call(...)
        f(...)
        wrap(app, name)
      end
      wrapped[call] = true
      rawset(app, method, call)
    end
  end
end

jit.off(true, true)

return apps
