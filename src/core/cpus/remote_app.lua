-- SPDX-License-Identifier: Apache-2.0
-- In the place of an app that runs on another CPU: what comes to its inputs goes into
-- rings (native/dpdk/passage.c), and out of its outputs comes what others left
-- there.

local ffi = require("ffi")
local C = require("core.native")
local pool = require("core.pool")

local RemoteApp = {}
RemoteApp.__index = RemoteApp

RemoteApp.is_remote = true

-- LuaJIT's pointers have 47 bits: they fit into a number.
local function passage_at(address)
  return address and ffi.cast("struct passage *", address) or nil
end

--- RemoteApp{inputs = {[NAME] = ADDRESS}, outputs = {[NAME] = ADDRESS}}: of rings.
function RemoteApp:new(arg)
  return setmetatable({arg = arg, push_link = {}, sources = {n = 0}}, self)
end

-- Of each input one function: link names and rings change seldom.
local function sender(passage)
  local account = pool.freelist
  return function (_, l) C.pg_passage_send(account, passage, l) end
end

--- The engine tells which links there are.
function RemoteApp:link()
  local sources = {n = 0}
  for name, l in pairs(self.output) do
    local passage = type(name) == "string" and passage_at(self.arg.outputs[name])
    if passage then
      sources.n = sources.n + 1
      sources[sources.n] = {passage = passage, link = l}
    end
  end
  for name in pairs(self.push_link) do self.push_link[name] = nil end
  for name in pairs(self.input) do
    local passage = type(name) == "string" and passage_at(self.arg.inputs[name])
    if passage then self.push_link[name] = sender(passage) end
  end
  self.sources = sources
end
RemoteApp.unlink = RemoteApp.link

--- Other rings, because the app moved.
function RemoteApp:reconfig(arg)
  self.arg = arg
  self:link()
end

local function receive_all(sources, account)
  for i = 1, sources.n do
    C.pg_passage_receive(account, sources[i].passage, sources[i].link)
  end
end

--- Take what has come.
function RemoteApp:pull()
  receive_all(self.sources, pool.freelist)
end

--- Inputs all have functions of their own.
function RemoteApp:push() end

return RemoteApp
