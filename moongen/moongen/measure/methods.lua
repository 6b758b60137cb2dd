-- SPDX-License-Identifier: Apache-2.0
-- The methods that rates and time stamps add to queues, devices and buffers.

local rates = require("moongen.pacing.rates")
local stamps = require("moongen.measure.stamps")

local M = {}

local function add(to, ...)
  for _, methods in ipairs{...} do
    for name, method in pairs(methods) do to[name] = method end
  end
end

--- To the prototypes of libmoon's module `device`, and to the `methods` of buffers.
function M.add(device, methods)
  add(device.__txQueuePrototype, rates.queue, stamps.tx)
  add(device.__rxQueuePrototype, stamps.rx)
  add(device.__devicePrototype, rates.device, stamps.device)
  add(methods, rates.buffer, stamps.buffer)
end

return M
