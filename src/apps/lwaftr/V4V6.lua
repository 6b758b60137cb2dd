-- SPDX-License-Identifier: Apache-2.0
-- V4V6: divides what comes over one interface into IPv4 (with ARP) and the rest, and
-- joins what goes back. It can copy the packets of one IPv4 address to `mirror`,
-- whether they are in a tunnel or not. Arguments and links are upstream's.

local ffi = require("ffi")
local link = require("core.link")
local log = require("core.lib.log")
local packet = require("core.packet")
local shm = require("core.shm")

local nreadable, receive, transmit = link.nreadable, link.receive, link.transmit

local V4V6 = {config = {description = {default = "V4V6"}, mirror = {default = false}}}
V4V6.__index = V4V6
V4V6.reconfig_keeps = {}

local ETHERNET, IP6, IP4 = 14, 40, 20 -- bytes
local EVERYTHING = 0xffffffff
local u32_p = ffi.typeof("const uint32_t *")

local mirrored_t = ffi.typeof("struct { uint32_t ipv4; }")

-- Without room in shared memory packets pass all the same.
local function shared()
  local ok, result = pcall(shm.create, "v4v6_mirror", mirrored_t)
  if ok then return result end
  if type(result) ~= "table" or not result.no_room then error(result, 0) end
  log.warning("`perigee lwaftr monitor` can't reach this process: %s", tostring(result))
  return mirrored_t()
end

-- The address whose packets are mirrored, as on the wire: other processes set it.
local mirrored = shared()

function V4V6:new(arg)
  return setmetatable({mirrors = arg.mirror}, V4V6)
end

local function is_ip4(p)
  local data = p.data
  return p.length >= ETHERNET and data[12] == 8 and (data[13] == 0 or data[13] == 6)
end

-- `at`: where the IPv4 header begins.
local function mirror(p, at, output)
  local wanted = mirrored.ipv4
  if wanted ~= EVERYTHING then
    if p.length < at + IP4 then return end
    local addresses = ffi.cast(u32_p, p.data + at + 12)
    if addresses[0] ~= wanted and addresses[1] ~= wanted then return end
  end
  transmit(output, packet.clone(p))
end

local function divide(input, v4, v6, copies, n)
  for _ = 1, n do
    local p = receive(input)
    if is_ip4(p) then
      if copies then mirror(p, ETHERNET, copies) end
      transmit(v4, p)
    else
      if copies then mirror(p, ETHERNET + IP6, copies) end
      transmit(v6, p)
    end
  end
end

local function join(input, output, at, copies, n)
  for _ = 1, n do
    local p = receive(input)
    if copies then mirror(p, at, copies) end
    transmit(output, p)
  end
end

V4V6.needs_packets = true

function V4V6:push()
  local input, output = self.input, self.output
  local copies = self.mirrors and output.mirror or nil
  if input.input then
    divide(input.input, output.v4, output.v6, copies, nreadable(input.input))
  end
  if not output.output then return end
  if input.v4 then
    join(input.v4, output.output, ETHERNET, copies, nreadable(input.v4))
  end
  if input.v6 then
    join(input.v6, output.output, ETHERNET + IP6, copies, nreadable(input.v6))
  end
end

return {V4V6 = V4V6}
