-- SPDX-License-Identifier: Apache-2.0
-- ARP messages checked, and printed.

local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")
local arp = require("click.net.arp")
local checks = require("click.net.checks")
local element = require("click.element")
local note = require("click.note")
local text_file = require("click.devices.text_file")
local wire = require("click.net.wire")

local halves_t = ffi.typeof("const uint16_t *")
local MAC, NETWORK, TRANSPORT =
  note.MAC_HEADER, note.NETWORK_HEADER, note.TRANSPORT_HEADER
local FIXED, MESSAGE, ETHERNET = 8, 28, 14 -- bytes
local HARDWARE_SIZE, PROTOCOL_SIZE = 4, 5 -- offsets
local swap16 = wire.swap16
local HARDWARE_ETHERNET, IP4, IP6 = swap16(1), swap16(ether_type.IP4),
  swap16(ether_type.IP6)

-- CheckARPHeader -------------------------------------------------------------------

local CheckARPHeader = element.define{
  name = "CheckARPHeader", summary = "checks ARP header",
  division = "any",
  ports = "1/1-2", processing = "a/ah",
  arguments = {
    {"OFFSET", "unsigned", default = 0, max = 0xffff}, unpack(checks.arguments),
  },
  drops = {"tiny packet", "too small for addresses", "bad hardware type/length",
           "bad protocol type/length"},
  complaint = "%s: ARP header check failed: %s",
}
checks.attach(CheckARPHeader)
local TINY, TOO_SMALL, BAD_HARDWARE, BAD_PROTOCOL = 1, 2, 3, 4

function CheckARPHeader:configure(a)
  checks.configure(self, a)
  self.offset = a.OFFSET
end

-- What is wrong with the message of so many bytes, or nil; and its length.
local function examine(data, length)
  if length < FIXED then return TINY end
  local hardware, protocol = data[HARDWARE_SIZE], data[PROTOCOL_SIZE]
  local size = FIXED + 2 * (hardware + protocol)
  if length < size then return TOO_SMALL end
  local halves = ffi.cast(halves_t, data)
  if halves[0] == HARDWARE_ETHERNET and hardware ~= 6 then return BAD_HARDWARE end
  if halves[1] == IP4 and protocol ~= 4 or halves[1] == IP6 and protocol ~= 16 then
    return BAD_PROTOCOL
  end
  return nil, size
end

function CheckARPHeader:process(p)
  local offset = self.offset
  local problem, size = examine(p.data + offset, p.length - offset)
  if problem then
    local q, o = checks.fail(self, p, problem)
    return q, o
  end
  local n, at = p.note16, p.data_off + offset
  n[NETWORK], n[TRANSPORT] = at, at + size
  self.count = self.count + 1
  return p
end

-- ARPPrint -------------------------------------------------------------------------

local ARPPrint = element.define{
  name = "ARPPrint", summary = "pretty-prints ARP packets",
  arguments = {
    {"LABEL", "string"}, {"TIMESTAMP", "bool", default = true, keyword = true},
    {"ETHER", "bool", default = false, keyword = true},
    {"ACTIVE", "bool", default = true, keyword = true},
    {"OUTFILE", "filename", keyword = true},
  },
}

function ARPPrint:configure(a)
  self.label, self.with_time, self.with_ether = a.LABEL, a.TIMESTAMP, a.ETHER
  self.active, self.path = a.ACTIVE, a.OUTFILE
end

function ARPPrint:initialize()
  if not self.path then return end
  local problem
  self.file, problem = text_file.open(self, self.path)
  if not self.file then self:error("%s", problem) end
end

function ARPPrint:cleanup()
  if self.file then self.file:close() end
end

local function ether_text(p, network)
  local at, start = p.note16[MAC], p.data_off
  if at == 0 then at = start end
  if at + ETHERNET > network or at + ETHERNET > start + p.length then return "" end
  local frame = p.buf_addr + at
  return ("%s > %s: "):format(wire.eth_text(frame + 6), wire.eth_text(frame))
end

local function ip_at(data, frame_offset)
  local d = data + (frame_offset - ETHERNET)
  return ("%d.%d.%d.%d"):format(d[0], d[1], d[2], d[3])
end

local function eth_at(data, frame_offset)
  return wire.eth_text(data + (frame_offset - ETHERNET))
end

local function who_has(data)
  local target = eth_at(data, arp.TARGET_MAC)
  return ("arp who-has %s%s tell %s"):format(ip_at(data, arp.TARGET_IP),
    target == "00-00-00-00-00-00" and "" or " (" .. target .. ")",
    ip_at(data, arp.SENDER_IP))
end

-- By operation (RFC 826, 903, 2390).
local TEXTS = {
  who_has,
  function (d)
    return ("arp reply %s is-at %s"):format(ip_at(d, arp.SENDER_IP),
      eth_at(d, arp.SENDER_MAC))
  end,
  function (d)
    return ("rarp who-is %s tell %s"):format(eth_at(d, arp.TARGET_MAC),
      eth_at(d, arp.SENDER_MAC))
  end,
  function (d)
    return ("rarp reply %s at %s"):format(eth_at(d, arp.TARGET_MAC),
      ip_at(d, arp.TARGET_IP))
  end,
  [8] = function (d)
    return ("invarp who-is %s tell %s"):format(eth_at(d, arp.TARGET_MAC),
      eth_at(d, arp.SENDER_MAC))
  end,
  [9] = function (d)
    return ("invarp reply %s at %s"):format(eth_at(d, arp.TARGET_MAC),
      ip_at(d, arp.TARGET_IP))
  end,
}

-- The message in words; nil if it is about other addresses.
local function message_text(data, length)
  if length < FIXED then return ("truncated-arp (%d)"):format(length) end
  local halves = ffi.cast(halves_t, data)
  if halves[1] ~= IP4 or data[PROTOCOL_SIZE] ~= 4 or data[HARDWARE_SIZE] ~= 6 then
    return nil
  end
  if length < MESSAGE then return ("truncated-arp (%d)"):format(length) end
  local operation, hardware = swap16(halves[3]), swap16(halves[0])
  local text = TEXTS[operation] and TEXTS[operation](data) or "arp-#" .. operation
  return hardware == 1 and text or text .. "hardware #" .. hardware
end

local function print_message(self, p, at)
  local text = message_text(p.buf_addr + at, p.data_off + p.length - at)
  if not text then return end
  local line = (self.label and self.label .. ": " or "")
    .. (self.with_time and note.time_text(p.note64[note.TIMESTAMP]) .. ": " or "")
    .. (self.with_ether and ether_text(p, at) or "") .. text
  if self.file then self.file:write(line, "\n") else self:say("%s", line) end
end

function ARPPrint:process(p)
  local at = p.note16[NETWORK]
  if self.active and at ~= 0 then print_message(self, p, at) end
  return p
end

ARPPrint.handlers = {active = element.data("active", "bool")}

return {CheckARPHeader, ARPPrint}
