-- SPDX-License-Identifier: Apache-2.0
-- In the place of an app that runs on another CPU: what comes to its inputs goes into
-- rings (native/dpdk/passage.c), and out of its outputs comes what others left
-- there. While a ring is full, the sources that can wait for it do.

local ffi = require("ffi")
local C = require("core.native")
local graph = require("core.engine.graph")
local intake = require("core.move.intake")
local link = require("core.link")
local pool = require("core.pool")

local tobit = bit.tobit

local RemoteApp = {}
RemoteApp.__index = RemoteApp

RemoteApp.is_remote = true

-- LuaJIT's pointers have 47 bits: they fit into a number.
local function passage_at(address)
  return address and ffi.cast("struct passage *", address) or nil
end

local held = {} -- by the address of a ring: how many others that are full it waits for

--- RemoteApp{inputs = {[NAME] = ADDRESS}, outputs = {[NAME] = ADDRESS}, waits = {[NAME
--- of an input] = {apps = {NAME, ...}, rings = {ADDRESS, ...}}}}: of rings, and who
--- waits while there is no room in one.
function RemoteApp:new(arg)
  return setmetatable({arg = arg, push_link = {}, sources = {n = 0}, full = {},
                       known = {}}, self)
end

-- The apps of these names, and those that one of them stands for (core.engine.expand),
-- that can wait.
local function those_who_can(names)
  local list = {}
  for _, name in ipairs(names) do
    if graph.apps[name] and graph.apps[name].can_wait then list[#list + 1] = name end
    local prefix = name .. "/"
    for other, app in pairs(graph.apps) do
      if app.can_wait and other:sub(1, #prefix) == prefix then
        list[#list + 1] = other
      end
    end
  end
  return list
end

-- The ring of an input is full, or isn't any more.
local function let_wait(self, name, full)
  local waits = self.arg.waits[name]
  if self.known_of ~= graph.configuration() then
    self.known, self.known_of = {}, graph.configuration()
  end
  self.known[name] = self.known[name] or those_who_can(waits.apps)
  self.full[name] = full or nil
  for _, app in ipairs(self.known[name]) do
    app = graph.apps[app]
    if app and app.can_wait then (full and intake.hold or intake.release)(app) end
  end
  for _, address in ipairs(waits.rings) do
    local n = (held[address] or 0) + (full and 1 or -1)
    held[address] = n > 0 and n or nil
  end
end

-- Of each input one function: link names and rings change seldom.
local function sender(self, name, passage)
  local account, full = pool.freelist, false
  return function (_, l)
    C.pg_passage_send(account, passage, l)
    local left = l.write ~= tobit(l.read)
    if left ~= full then
      full = left
      let_wait(self, name, full)
    end
  end
end

-- The links, or rings, are about to change.
local function let_nobody_wait(self)
  for name in pairs(self.full) do let_wait(self, name, false) end
end

-- Packets of all rings may come to one link: those of a breath have room in it, beside
-- what sources of this CPU send. Where that goes on to a ring that is full, they wait
-- from the next breath on.
local AT_ONCE, OF_ALL = 256, math.floor(link.max / 2)
local rings = 0 -- of this CPU

--- The engine tells which links there are.
function RemoteApp:link()
  let_nobody_wait(self)
  self:notify(false)
  local sources = {n = 0}
  for name, l in pairs(self.output) do
    local passage = type(name) == "string" and passage_at(self.arg.outputs[name])
    if passage then
      sources.n = sources.n + 1
      sources[sources.n] = {passage = passage, link = l,
                            address = self.arg.outputs[name]}
    end
  end
  for name in pairs(self.push_link) do self.push_link[name] = nil end
  for name in pairs(self.input) do
    local passage = type(name) == "string" and passage_at(self.arg.inputs[name])
    if passage then self.push_link[name] = sender(self, name, passage) end
  end
  rings = rings + sources.n - self.sources.n
  self.sources = sources
end
RemoteApp.unlink = RemoteApp.link

--- Other rings, because the app moved.
function RemoteApp:reconfig(arg)
  let_nobody_wait(self)
  self.arg = arg
  self:link()
end

local function receive_all(sources, account)
  local most = math.max(1, math.min(AT_ONCE, math.floor(OF_ALL / rings)))
  for i = 1, sources.n do
    local source = sources[i]
    if not held[source.address] then
      C.pg_passage_receive(account, source.passage, source.link, most)
    end
  end
end

--- Take what has come.
function RemoteApp:pull()
  receive_all(self.sources, pool.freelist)
end

--- Who sends rings this thread's bell.
function RemoteApp:wake_fds() return {bell = true} end

--- Let who sends ring it, or no more.
function RemoteApp:notify(on)
  local sources = self.sources
  for i = 1, sources.n do C.pg_passage_notify(sources[i].passage, on) end
end

--- Inputs all have functions of their own.
function RemoteApp:push() end

--- What waits for its rings needn't any more.
function RemoteApp:stop()
  self:notify(false)
  rings = rings - self.sources.n
  let_nobody_wait(self)
end

return RemoteApp
