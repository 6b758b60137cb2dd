-- SPDX-License-Identifier: Apache-2.0
-- What stands around the copies of apps that config.replicate made: Distribute hands
-- packets out by their flows, as a card with several queues does
-- (native/kernels/flows.c); Join brings them together. Both leave in their inputs
-- what has no room, so that none is lost there.

local ffi = require("ffi")
local C = require("core.native")

local M = {}

local function class()
  local c = {}
  c.__index = c
  function c:new() return setmetatable({}, self) end
  return c
end

--- Distribute: from `input` to `output1`, `output2` and so on; all packets of a flow,
--- both directions, to the same one. Its argument {by = "within"}: pings count by their
--- identifier, and ICMP errors as the packets that they quote; "addresses": ports don't
--- count. With {steering = ADDRESS} a table says which (core.cpus.balancer).
M.Distribute = class()

local BY = {within = C.FLOWS_WITHIN, addresses = C.FLOWS_BY_ADDRESSES}

function M.Distribute:new(arg)
  local at = arg and arg.steering
  return setmetatable({by = BY[arg and arg.by] or C.FLOWS_BY_PORTS,
    steering = at and ffi.cast("struct steering *", ffi.cast("uintptr_t", at))}, self)
end

function M.Distribute:link()
  local n = 0
  while self.output["output" .. n + 1] do n = n + 1 end
  self.n, self.outputs = n, ffi.new("struct link *[?]", math.max(n, 1))
  for i = 1, n do self.outputs[i - 1] = self.output["output" .. i] end
end
M.Distribute.unlink = M.Distribute.link

function M.Distribute:push()
  if self.n > 0 and self.steering then
    C.pg_distribute_by(self.input.input, self.outputs, self.steering, self.by)
  elseif self.n > 0 then
    C.pg_distribute(self.input.input, self.outputs, self.n, self.by)
  end
end

--- The same division where each copy receives for itself, for C: how many copies, which
--- one (from 0), and enum flows_by; zeros without a share {copies =, copy =, meets =}.
function M.numbers(share)
  if not share then return 0, 0, 0 end
  return share.copies, share.copy, BY[share.meets] or C.FLOWS_BY_PORTS
end

--- Join: from all inputs to `output`.
M.Join = class()

local function join(inputs, output, n)
  for i = 1, n do C.pg_link_move(inputs[i], output) end
end

function M.Join:push()
  local output = self.output.output
  if output then join(self.input, output, #self.input) end
end

return M
