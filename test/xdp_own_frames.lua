-- SPDX-License-Identifier: Apache-2.0
-- test/xdp_own_frames.lua PORT: sends back what comes from PORT, an `xdp` port, each
-- copied into the next frame of the port's own pool. All frames wait here for their
-- turn, but those the kernel has to receive into, and some for the driver, which come
-- back to it as they carry probes at first.

local C = require("core.native")
local config = require("core.config")
local ffi = require("ffi")
local link = require("core.link")
local packet = require("core.packet")
local Port = require("apps.port.port").Port

local account = require("core.pool").freelist -- of the process's packets
local LEFT = 512 -- frames that the driver has at hand
local PROBE = ("\xff"):rep(12) .. "\x88\xb5" .. ("\0"):rep(46) -- of helpers.network

local Copies = {}
Copies.__index = Copies

function Copies:new()
  local list = ffi.new("struct freelist")
  list.max = 1
  return setmetatable({list = list, frames = {}, first = 1, last = 0}, self)
end

-- Take frames, but leave so many to the driver.
function Copies:take(left)
  local pool, list = engine.app_table.port.port.pool, self.list
  list.pool = pool
  while C.pg_pool_left(pool) > left and C.pg_freelist_refill(list, 1) > 0 do
    self.last, list.nfree = self.last + 1, 0
    self.frames[self.last] = list.list[0]
  end
end

-- Send the bytes in the frame that has waited longest.
function Copies:send(bytes, length)
  local frame = self.frames[self.first]
  self.frames[self.first], self.first = nil, self.first + 1
  account.refilled = account.refilled + 1
  link.transmit(self.output.output, packet.append(frame, bytes, length))
end

function Copies:push()
  local input = self.input.input
  if self.last == 0 then
    self:take(0)
    for _ = 1, LEFT do self:send(PROBE, #PROBE) end
    print(("frames: %d"):format(self.last - LEFT))
  end
  self:take(LEFT)
  while not link.empty(input) and not link.full(self.output.output)
      and self.first <= self.last do
    local p = link.receive(input)
    self:send(p.data, p.length)
    packet.free(p)
  end
end

local port = ...
local c = config.new()
config.app(c, "port", Port, port)
config.app(c, "copies", Copies)
config.link(c, "port.output -> copies.input")
config.link(c, "copies.output -> port.input")
engine.configure(c)
engine.main{}
