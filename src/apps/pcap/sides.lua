-- SPDX-License-Identifier: Apache-2.0
-- Which side of a capture's conversations has sent a frame: its client or its server.

local C = require("core.declare")("apps/pcap/sides.h")
local failure = require("core.failure")
local ffi = require("ffi")
local flow = require("net.flow.flow")
local addresses = require("net.address.address")

local M = {CLIENT = C.SIDE_CLIENT, SERVER = C.SIDE_SERVER}

local MAC_BITS, NO_FAMILY = 48, 0
local CONVERSATIONS = 2^20 -- at once, and stations; of more the oldest are forgotten

local function add_server(sides, text, by)
  local bytes, length, version
  if by == "mac" then
    bytes, length, version = addresses.mac(text), MAC_BITS, NO_FAMILY
  else
    bytes, length, version = addresses.prefix(text)
  end
  if not bytes then
    return nil, by == "mac" and ("'%s' isn't an Ethernet address"):format(text)
      or ("'%s' isn't a network such as 192.0.2.0/24 or 2001:db8::/64"):format(text)
  end
  local server = sides.server[sides.count]
  ffi.copy(server.address, bytes, #bytes)
  server.length, server.version = length, version
  sides.count = sides.count + 1
  return true
end

local function fill(sides, text)
  local by, list = text:match("^(%a+)=(.+)$")
  if text == "syn" or text == "port" then
    sides.by = text == "syn" and C.SIDES_SYN or C.SIDES_PORT
    return true
  elseif by ~= "ip" and by ~= "mac" then
    return nil, ("'%s' isn't syn, port, ip=NETWORK,... or mac=ADDRESS,... (of the "
      .. "servers)"):format(text)
  end
  sides.by = by == "ip" and C.SIDES_IP or C.SIDES_MAC
  for item in (list .. ","):gmatch("([^,]*),") do
    if sides.count == C.SIDES_MOST then
      return nil, ("there are up to %d servers"):format(C.SIDES_MOST)
    end
    local ok, problem = add_server(sides, item, by)
    if not ok then return nil, problem end
  end
  return true
end

--- Is the text one for new()? The text, or nil and what is wrong.
function M.check(text)
  local ok, problem = fill(ffi.new("struct sides"), text)
  return ok and text or nil, problem
end

--- A function of a pointer to a frame and its bytes: CLIENT or SERVER. `text` says how
--- to tell them apart: "syn" (who has sent a connection's first SYN; else as "port"),
--- "port" (the server has the lower one; where both are the same, who is heard first is
--- the client), "ip=192.0.2.0/24,..." or "mac=02:00:00:00:00:01,..." (of the servers).
--- Frames without IP go with those of the same station.
function M.new(text)
  local sides = ffi.new("struct sides")
  local ok, problem = fill(sides, text)
  if not ok then failure.usage("%s", problem) end
  local conversations = flow.new{key = "struct sides_key", value = "uint64_t",
    limit = CONVERSATIONS, full = "evict", ages = {1}}
  sides.table = conversations.table
  return function (data, length)
    local _ = conversations -- it is C's as long as the function is there
    return C.pg_side(sides, data, length)
  end
end

return M
