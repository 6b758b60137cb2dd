-- SPDX-License-Identifier: Apache-2.0
-- What a summary dump sees of a packet: where its headers are, as far as they make
-- sense and are there, and what is wrong with it. Positions are offsets from the
-- packet's buffer.
--
--   start, finish        the packet's first byte, and the one behind its last (padding
--                        behind the IP packet doesn't count)
--   ether, net, transport   headers; nil if there is none
--   ip, tcp, udp, icmp   is there such a header that can be looked at?
--   tail                 bytes of padding
--   bad                  what is wrong, as the dump's line says it; only if wanted

local note = require("click.note")
local bytes = require("net.wire.bytes")

local View = {}
View.__index = View

local ETHER, NETWORK, TRANSPORT = note.MAC_HEADER, note.NETWORK_HEADER,
  note.TRANSPORT_HEADER
local EXTRA = note.EXTRA_LENGTH
local TCP, UDP, ICMP = 6, 17, 1
local MOST_IP = 65535

--- A view with options: bad (collect what is wrong), careful (packets shorter than they
--- say are wrong), extra (lengths include the annotation's extra length).
function View.new(options)
  return setmetatable({options = options}, View)
end

function View:byte(at) return self.buffer[at] end

function View:half(at) return bytes.read16(self.buffer + at) end
function View:word(at) return bytes.read32(self.buffer + at) end

--- Bytes from the IP header on, and from the one behind it on.
function View:network_length() return self.finish - self.net end
function View:transport_length() return self.finish - self.transport end

--- The first fragment, or no fragment?
function View:is_first() return self:half(self.net + 6) % 8192 == 0 end

function View:complain(format, ...)
  if self.options.bad and not self.bad then self.bad = "!bad " .. format:format(...) end
end

-- Is the IP header's length, and what it says of the packet's, possible?
local function check_ip(self)
  local length = self:network_length()
  if length < 4 then return self:complain("truncated IP header") end
  local first = self:byte(self.net)
  local version, words = math.floor(first / 16), first % 16
  if version ~= 4 then return self:complain("IP version %d", version) end
  if words < 5 then return self:complain("IP header length %d", words) end
  local total = self:half(self.net + 2)
  if total < words * 4 then return self:complain("IP length %d", total) end
  self.header = words * 4
  self.total = total
  return true
end

-- Padding, and bytes that aren't there.
local function compare_lengths(self)
  local p, length = self.p, self:network_length()
  local extra = p.note32[EXTRA]
  if length > self.total then
    self.tail = length - self.total
    self.finish = self.finish - self.tail
    p.note32[EXTRA] = extra + self.tail
  elseif self.options.careful and length + extra < self.total then
    self:complain("truncated IP missing %d", self.total - length - extra)
  end
end

-- The extra length is in the IP header's, unless that is as long as can be.
local function settle_extra(self)
  local p = self.p
  local extra = p.note32[EXTRA]
  if extra == 0 then return end
  local full = self:network_length() + extra
  p.note32[EXTRA] = self.total == MOST_IP and full > MOST_IP and full - MOST_IP or 0
end

local function find_transport(self)
  if not self.transport or self:network_length() <= self.header
      or self:network_length() < 10 or not self:is_first() then
    return
  end
  local protocol = self:byte(self.net + 9)
  self.udp, self.icmp = protocol == UDP, protocol == ICMP
  self.tcp = protocol == TCP
  if self.tcp and self:transport_length() > 12 then
    local words = math.floor(self:byte(self.transport + 12) / 16)
    if words < 5 then
      self:complain("TCP header length %d", words)
      self.tcp = false
    end
  end
end

--- Look at packet `p`, its headers too if `headers`.
function View:look_at(p, headers)
  local function place(index)
    local at = p.note16[index]
    return at > 0 and at or nil
  end
  self.p, self.buffer, self.bad, self.tail = p, p.buf_addr, nil, 0
  self.start, self.finish = p.data_off, p.data_off + p.length
  self.ether, self.net, self.transport = place(ETHER), place(NETWORK), place(TRANSPORT)
  self.ip, self.tcp, self.udp, self.icmp = false, false, false, false
  if not headers or not self.net or not check_ip(self) then return end
  self.ip = true
  compare_lengths(self)
  find_transport(self)
  settle_extra(self)
end

local NAMES = {[TCP] = "TCP", [UDP] = "UDP", [ICMP] = "ICMP", [256] = "TCP/UDP"}

local function is_wrong_protocol(self, protocol)
  if self:network_length() < 10 then return false end
  local own = self:byte(self.net + 9)
  if protocol == 256 then return own ~= TCP and own ~= UDP end
  return own ~= protocol
end

--- A field that needs `length` bytes of the IP header isn't there, or of the header of
--- `protocol` (256: TCP's or UDP's).
function View:missing(protocol, length)
  if not self.options.bad or self.bad then return end
  local name = NAMES[protocol]
  if not self.ip then
    self:complain("no IP header")
  elseif not protocol then
    self:complain("truncated IP header capture")
  elseif is_wrong_protocol(self, protocol) then
    return
  elseif not self:is_first() then
    self:complain("fragmented %s header", name)
  elseif self.transport
      and self:transport_length() + self.p.note32[EXTRA] >= length then
    self:complain("truncated %s header capture", name)
  else
    self:complain("truncated %s header", name)
  end
end

--- Has the IP header so many bytes? Says that they are missing if not.
function View:has_ip(length)
  if self.ip and self:network_length() >= length then return true end
  self:missing(nil, length)
  return false
end

--- Has the header behind it, of one of "tcp", "udp", "icmp", so many bytes?
function View:has(kind, protocol, length)
  if self[kind] and self:transport_length() >= length then return true end
  self:missing(protocol, length)
  return false
end

return View
