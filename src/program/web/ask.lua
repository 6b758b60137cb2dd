-- SPDX-License-Identifier: Apache-2.0
-- What pages ask running instances for, by their control sockets, without waiting:
-- these functions run in the coroutine of an HTTP session, and yield until something
-- has come. A browser that goes leaves its coroutine where it is; close_old() then ends
-- what it had asked for.

local C = require("core.native")
local blocks = require("lib.pcap.blocks")
local client = require("lib.control.client")
local failure = require("core.failure")
local format = require("lib.pcap.format")
local link_types = require("lib.observe.link_types")

local ask = {}

local MOST_AT_ONCE = 16
local ANSWER_SECONDS = 5
local SPARE_SECONDS = 5    -- beyond what a request may take
local LAST_SECONDS = 2     -- for the last words of a capture
local MOST_BYTES = 64 * 1024 * 1024

local open = {} -- connections, and when they are to be closed

local function close(connection)
  if open[connection] then connection:close() end
  open[connection] = nil
end

--- Close what nobody has waited for to its end.
function ask.close_old()
  local now = C.pg_monotonic()
  for connection, ends in pairs(open) do
    if now > ends then close(connection) end
  end
end

--- Close everything.
function ask.close_all()
  for connection in pairs(open) do close(connection) end
end

local function connect(instance, seconds)
  local n = 0
  for _ in pairs(open) do n = n + 1 end
  if n >= MOST_AT_ONCE then
    failure.raise("%d traces and captures run already; try again later", n)
  end
  local connection = client.connect(instance)
  open[connection] = C.pg_monotonic() + seconds + ANSWER_SECONDS + SPARE_SECONDS
  return connection
end

-- The next line, up to the time `ends`: a table; false: there is none; nil: the end.
local function next_line(connection, ends)
  while true do
    local line = connection:line(0, true)
    if line ~= false or C.pg_monotonic() > ends then return line end
    coroutine.yield()
  end
end

local function begin(connection, request)
  local line = connection:send(request)
    and next_line(connection, C.pg_monotonic() + ANSWER_SECONDS)
  return connection:answer(line, ANSWER_SECONDS)
end

-- Call f(connection) with one to the instance, which is closed then.
local function with(instance, seconds, f)
  local connection = connect(instance, seconds)
  local ok, result = pcall(f, connection)
  close(connection)
  if not ok then error(result, 0) end
  return result
end

--- What the instance answers to the request, a table. Raises a failure, as all here.
function ask.once(instance, request)
  return with(instance, 0, function (connection) return begin(connection, request) end)
end

--- The ways of packets (doc/control.md), a list: what has come in so many seconds, or
--- when there are `request.count`.
function ask.trace(instance, request, seconds)
  return with(instance, seconds, function (connection)
    local records, ends = {}, C.pg_monotonic() + seconds
    begin(connection, request)
    while #records < request.count do
      local line = next_line(connection, ends)
      if not line or line["end"] then break end
      records[#records + 1] = line.packet
    end
    return records
  end)
end

-- Bytes of pcapng until the capture ends by itself, or is stopped as the time is over.
local function receive(connection, seconds)
  local parts, size, stopped = {connection:rest()}, 0, false
  local ends = C.pg_monotonic() + seconds
  while size <= MOST_BYTES do
    local bytes = connection:bytes(0)
    if not bytes then break end
    parts[#parts + 1], size = bytes, size + #bytes
    local now = C.pg_monotonic()
    if now > ends and stopped then break end
    if now > ends then
      stopped, ends = true, now + LAST_SECONDS
      connection:send{["do"] = "stop"}
    end
    if bytes == "" then coroutine.yield() end
  end
  return table.concat(parts)
end

-- Call take(kind, block) for the whole blocks of `bytes`.
local function each_block(bytes, take)
  local at = 1
  while true do
    local kind, length = blocks.at(bytes, at)
    if not kind then return end
    take(kind, bytes:sub(at, at + length - 1))
    at = at + length
  end
end

-- Call take(kind, block) for the blocks of a capture.
local function capture(instance, request, seconds, take)
  each_block(with(instance, seconds, function (connection)
    begin(connection, request)
    return receive(connection, seconds)
  end), take)
end

--- A capture (doc/control.md) as pcapng: up to `request.limit` packets, or those of so
--- many seconds.
function ask.capture(instance, request, seconds)
  local types, parts = link_types.new(), {}
  capture(instance, request, seconds, function (kind, block)
    parts[#parts + 1] = types:take(kind, block)
  end)
  parts[#parts + 1] = types:rest()
  return table.concat(parts)
end

--- The same as a list of packets (lib.pcap.blocks.read_packet).
function ask.packets(instance, request, seconds)
  local list = {}
  capture(instance, request, seconds, function (kind, block)
    if kind == format.ENHANCED_PACKET then
      list[#list + 1] = blocks.read_packet(block)
    end
  end)
  return list
end

return ask
