-- SPDX-License-Identifier: Apache-2.0
-- A source that notes the longest time between two of its pulls, in microseconds, once
-- the clock (core.native's pg_now) is past `from`.

local C = require("core.native")
local counter = require("core.counter")
local link = require("core.link")
local packet = require("core.packet")

local FRAME = ("\0"):rep(60)

local Looked = {config = {from = {required = true}}}
Looked.__index = Looked

function Looked:new(arg)
  return setmetatable({from = arg.from, longest = 0, shm = {longest = {counter}}}, self)
end

function Looked:pull()
  local now, last = C.pg_now(), self.last
  if last and last > self.from and now - last > self.longest then
    self.longest = now - last
    counter.set(self.shm.longest, self.longest * 1e6)
  end
  self.last = now
  link.transmit(self.output.output, packet.from_string(FRAME))
end

return {Looked = Looked}
