-- SPDX-License-Identifier: Apache-2.0
-- Time stamps of network cards, by DPDK's timesync functions (rte_ethdev.h): of PTP
-- packets only, and one at a time each way.

local ffi = require("ffi")
local clock = require("moongen.clock")
local quiet = require("lib.quiet")

-- Under names of their own: scripts declare them, too.
ffi.cdef[[
struct mg_timespec { int64_t sec, nsec; };
int mg_timesync_enable(uint16_t) __asm__("rte_eth_timesync_enable");
int mg_timesync_rx(uint16_t, struct mg_timespec *, uint32_t)
  __asm__("rte_eth_timesync_read_rx_timestamp");
int mg_timesync_tx(uint16_t, struct mg_timespec *)
  __asm__("rte_eth_timesync_read_tx_timestamp");
int mg_timesync_read(uint16_t, struct mg_timespec *)
  __asm__("rte_eth_timesync_read_time");
int mg_timesync_write(uint16_t, const struct mg_timespec *)
  __asm__("rte_eth_timesync_write_time");
]]

local M = {C = ffi.C} -- its functions, which specs replace

local enabled = {} -- by DPDK's port number: does it stamp?

local function number_of(device)
  local port = device.c.ports[0]
  return port.own == nil and port.id or nil -- own drivers aren't DPDK's
end

--- Switch time stamps of the device on. False if it has none.
function M.enable(device)
  local port = number_of(device)
  if not port then return false end
  if enabled[port] == nil then enabled[port] = M.C.mg_timesync_enable(port) == 0 end
  return enabled[port]
end

local function nanoseconds(t) return tonumber(t.sec) * 1e9 + tonumber(t.nsec) end

-- What `read` gives once it succeeds, within so many microseconds; else nil.
local function wait_for(microseconds, read)
  local t = ffi.new("struct mg_timespec")
  local wait = quiet.after((microseconds or 0) / 1e6, clock.seconds)
  repeat
    if read(t) == 0 then return nanoseconds(t) end
  until wait:over(0)
end

--- When the last marked packet was sent, in nanoseconds of the device's clock; waits up
--- to so many microseconds for it. nil if there is none.
function M.sent(device, microseconds)
  local port = number_of(device)
  return wait_for(microseconds, function (t) return M.C.mg_timesync_tx(port, t) end)
end

--- When the last PTP packet was received; `register` is the buffer's `timesync`.
function M.received(device, microseconds, register)
  local port = number_of(device)
  return wait_for(microseconds, function (t)
    return M.C.mg_timesync_rx(port, t, register or 0)
  end)
end

--- The device's clock, in nanoseconds.
function M.time(device)
  local t = ffi.new("struct mg_timespec")
  if M.C.mg_timesync_read(number_of(device), t) ~= 0 then return nil end
  return nanoseconds(t)
end

--- Set both clocks to 0. What is left is the time between two calls.
function M.synchronize(a, b)
  local zero = ffi.new("struct mg_timespec")
  M.C.mg_timesync_write(number_of(a), zero)
  if number_of(a) ~= number_of(b) then M.C.mg_timesync_write(number_of(b), zero) end
end

return M
