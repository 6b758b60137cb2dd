-- SPDX-License-Identifier: Apache-2.0
-- Per-packet apps by themselves, between links, as when nothing is fused. Also what a
-- fused region must do exactly as well as this.

local bulk = require("core.fuse.bulk")
local config = require("core.config")
local contract = require("core.fuse.contract")
local drops = require("core.fuse.drops")
local link = require("core.link")
local packet = require("core.packet")
local running_app = require("core.watch.running_app")

local unfused = {}

local ONE_OUTPUT = {"output"}
local NONE = {}

local told -- of what is lost, or nil

--- Call f(app name, reason, packet) for each packet that apps which aren't fused drop
--- by name, before it is freed; with nil nobody is told any more.
function unfused.tell_losses(f)
  told = f
  bulk.tell_losses(f)
end

local function lose(app, reason, p)
  drops.add(app, reason, 1)
  if told then told(app.appname, reason, p) end
  packet.free(p)
end

local function pass(app, outputs, p, o)
  local name = outputs[o or 1]
  local l = name and app.output[name]
  if l then
    link.transmit(l, p)
  else
    lose(app, name and "no link at " .. name or "no such output", p)
  end
end

local function process_all(app, outputs, l, n, input)
  for _ = 1, n do
    local p = link.receive(l)
    local q, o = app:process(p, input)
    if q == nil then
      lose(app, (app.drops or NONE)[o] or "dropped", p)
    elseif q then -- not kept
      pass(app, outputs, q, o)
    end
  end
end

-- What an app that emits was given may be another's by now.
running_app.caller(process_all, "process", 1, function (variables)
  return not variables.app.emits and {variables.p} or nil
end)

-- What a lifted app does before its packets (fused.lua: lifting).
local function begin(app)
  if app.before then app.before() end
end

running_app.caller(begin, "push", 1)

--- Let the per-packet app process `n` packets that wait in its input `l`, and send them
--- to its outputs, which have the names in the list `outputs`.
unfused.process_all = process_all

--- The push(app) of a per-packet or bulk app that isn't fused, or nil. `numbers` are
--- those that its process() knows its inputs by: {[LINK] = number}; `ports` those that
--- a bulk app receives from and sends to past links: {[LINK] = struct port}.
function unfused.push_of(app, numbers, ports)
  if app.process_burst then return bulk.push_of(app, ports) end
  local outputs = app.outputs or ONE_OUTPUT
  return app.process and function ()
    for i = 1, #app.input do
      local l = app.input[i]
      process_all(app, outputs, l, link.nreadable(l), numbers[l])
    end
  end
end

--- What an app that isn't fused sends by: emit(o, p) puts `p` into the link that leaves
--- it by output number `o`.
function unfused.emit_of(app)
  local outputs = app.outputs or ONE_OUTPUT
  return function (o, p) pass(app, outputs, p, o) end
end

-- The links inside the region `found` by the app that they lead to, a list each; and
-- the numbers of the inputs that they lead to.
local function inner_links(found, apps, links)
  local into, numbers = {}, {}
  for _, spec in ipairs(config.sorted_keys(found.inner)) do
    local _, _, to, input = config.parse_link(spec)
    into[to] = into[to] or {}
    table.insert(into[to], links[spec])
    numbers[links[spec]] = contract.number_of(apps[to], input)
  end
  return into, numbers
end

-- Drop what is still in the links after so many rounds.
local function empty(into, apps)
  for name, list in pairs(into) do
    for _, l in ipairs(list) do
      while not link.empty(l) do lose(apps[name], unfused.LOOPED, link.receive(l)) end
    end
  end
end

--- Why a packet is dropped that has been round a loop of links in a region too often;
--- and how often that is.
unfused.LOOPED, unfused.MOST_ROUNDS = "too often round a loop", 64

--- Move what waits in the links inside the region `found` on, app by app in
--- topological order, so that they are empty when it is fused. What an app raises is
--- added to the list `problems`, with the app as its `instance`; the packet at hand is
--- then that app's.
function unfused.drain(found, apps, links, explain, problems)
  local into, numbers = inner_links(found, apps, links)
  for _, name in ipairs(found.apps) do
    if apps[name].emits then apps[name].emit = unfused.emit_of(apps[name]) end
  end
  local function push(app, l)
    local running = app.lifted_from or app
    local ok, err = xpcall(begin, explain, app)
    if ok then
      ok, err = xpcall(process_all, explain, app, app.outputs or ONE_OUTPUT, l,
        link.nreadable(l), numbers[l])
    else -- it takes none
      while not link.empty(l) do lose(running, "error", link.receive(l)) end
    end
    if not ok then
      err.instance = running
      problems[#problems + 1] = err
    end
  end
  for _ = 1, next(found.closing) and unfused.MOST_ROUNDS or 1 do
    for _, name in ipairs(found.apps) do
      for _, l in ipairs(into[name] or NONE) do
        while not link.empty(l) do push(apps[name], l) end
      end
    end
  end
  empty(into, apps)
end

-- Classes under Snabb's names -----------------------------------------------------
-- They are made ready for programs that derive classes from them, or hold such an app
-- in one of their own, and call its push().

--- Give the per-packet class a push(app), which is called with an app of the class, or
--- of one that was derived from it, that has links. before(app) is called first. The
--- engine doesn't call it: see core.fuse.contract.
function unfused.give_push(class, before)
  local function drain(app, l)
    unfused.process_all(app, class.outputs or ONE_OUTPUT, l, link.nreadable(l), 1)
  end
  function class.push(app)
    app.process = app.process or class.process -- of another class's metatable
    app.drops = app.drops or class.drops
    if before then before(app) end
    for i = 1, #app.input do drain(app, app.input[i]) end
    if #app.input == 0 then -- an app within another, which has given it links by name
      for _, l in pairs(app.input) do drain(app, l) end
    end
  end
  contract.is_for_others(class.push)
end

--- The table `app` as one of `class`, which may be derived without an __index of its
--- own.
function unfused.new(class, app)
  return setmetatable(app, rawget(class, "__index") and class or {__index = class})
end

return unfused
