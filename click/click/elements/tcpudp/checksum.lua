-- SPDX-License-Identifier: Apache-2.0
-- Elements that set the checksums of TCP and UDP.

local bit = require("bit")
local C = require("core.declare")("net/checksum/checksum.h")
local element = require("click.element")
local ip_header = require("click.net.ip_header")
local read16 = require("net.wire.bytes").read16
local SetIPChecksum = require("click.elements.ip.fields")[4]

local band, bor, lshift, rshift = bit.band, bit.bor, bit.lshift, bit.rshift
local find = ip_header.whole
local PROTOCOL, FLAGS = 9, 6
local TCP, UDP, TCP_HEADER, UDP_HEADER = 6, 17, 20, 8
local TCP_OFFSET, UDP_LENGTH = 12, 4 -- offsets of fields
local FRAGMENT = 0x3f -- more to come, and the offset's first bits

local function is_fragment(ip)
  return band(ip[FLAGS], FRAGMENT) ~= 0 or ip[FLAGS + 1] ~= 0
end

-- Set the checksum of TCP; false if the lengths are wrong.
local function set_tcp(ip, header, available)
  local size = read16(ip + 2) - header
  if size < TCP_HEADER or header + size > available then return false end
  C.pg_ip4_l4_set(ip, ip + header, size, TCP)
  return true
end

-- That of UDP.
local function set_udp(ip, header, available)
  if header + UDP_HEADER > available then return false end
  local size = read16(ip + header + UDP_LENGTH)
  if size < UDP_HEADER or header + size > available then return false end
  C.pg_ip4_l4_set(ip, ip + header, size, UDP)
  return true
end

-- SetTCPChecksum -------------------------------------------------------------------

local SetTCPChecksum = element.define{
  name = "SetTCPChecksum", summary = "sets TCP packets' checksums",
  division = "any",
  arguments = {{"FIXOFF", "bool", default = false}}, drops = {"bad lengths"},
}

function SetTCPChecksum:configure(a) self.fix_offset = a.FIXOFF end

-- A header longer than the packet, or too short, is made as long as it may be.
local function fix_offset(ip, header, size)
  local at = ip + header + TCP_OFFSET
  local words = rshift(at[0], 4)
  if words * 4 < TCP_HEADER then
    words = TCP_HEADER / 4
  elseif words * 4 > size and not is_fragment(ip) then
    words = math.min(rshift(size, 2), 15)
  end
  at[0] = bor(lshift(words, 4), band(at[0], 15))
end

local function drop(e)
  if not e.told then e:say("SetTCPChecksum: bad lengths") end
  e.told = true
  return nil, 1
end

function SetTCPChecksum:process(p)
  local ip, header, available = find(p)
  if ip and read16(ip + 2) - header >= TCP_HEADER and read16(ip + 2) <= available then
    if self.fix_offset then fix_offset(ip, header, read16(ip + 2) - header) end
    set_tcp(ip, header, available)
    return p
  end
  local q, o = drop(self)
  return q, o
end

-- SetUDPChecksum -------------------------------------------------------------------

local SetUDPChecksum = element.define{
  name = "SetUDPChecksum", summary = "sets UDP packets' checksums",
  division = "any",
  ports = "1/1-2", processing = "a/ah", drops = {"fragment or short packet"},
}

local function miss(e, p)
  if e.noutputs == 2 then return p, 2 end
  if not e.told then
    e:remark("fragment or short packet")
  end
  e.told = true
  return nil, 1
end

function SetUDPChecksum:process(p)
  local ip, header, available = find(p)
  if not ip or is_fragment(ip) or not set_udp(ip, header, available) then
    local q, o = miss(self, p)
    return q, o
  end
  return p
end

-- ResetIPChecksum ------------------------------------------------------------------

-- In FastClick it leaves the work to the device.
local ResetIPChecksum = element.define{
  name = "ResetIPChecksum", extends = SetIPChecksum,
  summary = "sets IP packets' checksums, and with an argument those above",
  arguments = {{"L4", "bool", default = false}},
}

function ResetIPChecksum:configure(a)
  SetIPChecksum.configure(self)
  self.l4 = a.L4
end

function ResetIPChecksum:process(p)
  local q, o = SetIPChecksum.process(self, p)
  if not q or not self.l4 then return q, o end
  local ip, header, available = find(p)
  if ip and not is_fragment(ip) then
    if ip[PROTOCOL] == TCP then
      set_tcp(ip, header, available)
    elseif ip[PROTOCOL] == UDP then
      set_udp(ip, header, available)
    end
  end
  return p
end

return {SetTCPChecksum, SetUDPChecksum, ResetIPChecksum}
