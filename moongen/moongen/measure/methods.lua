-- SPDX-License-Identifier: Apache-2.0
-- The methods that rates and time stamps add to queues, devices and buffers.

local arguments = require("moongen.arguments")
local ffi = require("ffi")
local rates = require("moongen.pacing.rates")
local stamps = require("moongen.measure.stamps")

require("moongen.memory.buffers") -- struct mg_buffers

local M = {}

local function add(to, ...)
  for _, methods in ipairs{...} do
    for name, method in pairs(methods) do to[name] = method end
  end
end

-- What they take; the others look themselves.
local TAKE = {
  setRate = "number", setRateMpps = "number, number?", setDelay = "number",
  sendWithDelay = "buffers, any?, number?",
  sendWithDelayLoss = "buffers, any?, number?, number?",
  recvWithTimestamps = "buffers, number?",
  sendWithTimestamp = "buffers, number?", getSoftwareTxTimestamp = "number?",
  getSoftwareRxTimestamp = "number?", getTimestamp = "number?, any?",
  getTxTimestamp = "table, number?",
  getRxTimestamp = "table, number?, any?",
}

local BUFFERS_TAKE = {getTimestamp = "any?"} -- the device, of libmoon's scripts

local function guard(to, object, of, kinds_of, ...)
  for _, methods in ipairs{...} do
    local take = {}
    for name in pairs(methods) do
      take[name] = kinds_of[name] or TAKE[name] or "any?, any?, any?, any?"
    end
    arguments.methods(to, object, of, take)
  end
end

--- To the prototypes of libmoon's module `device`, and to the `methods` of buffers.
function M.add(device, methods)
  add(device.__txQueuePrototype, rates.queue, stamps.tx)
  add(device.__rxQueuePrototype, stamps.rx)
  add(device.__devicePrototype, rates.device, stamps.device)
  add(methods, rates.buffer, stamps.buffer)
  guard(device.__txQueuePrototype, "a queue", "queue", {}, rates.queue, stamps.tx)
  guard(device.__rxQueuePrototype, "a queue", "queue", {}, stamps.rx)
  guard(device.__devicePrototype, "a device", "c", {}, rates.device, stamps.device)
  guard(methods, "a buffer", ffi.typeof("struct packet"), BUFFERS_TAKE, rates.buffer,
    stamps.buffer)
end

return M
