-- SPDX-License-Identifier: Apache-2.0
-- TCP headers without options (RFC 9293, section 3.1).

local ffi = require("ffi")
local check = require("lib.protocol.check")
local class = require("lib.lua.class")
local fields = require("lib.protocol.fields")
local header = require("lib.protocol.header")
local lib = require("core.lib")
local transport = require("lib.protocol.transport")

local PROTOCOL = 6

local tcp = class.subClass(header)
tcp._name = "tcp"
tcp:init{ffi.typeof[[
  struct {
    uint16_t src_port, dst_port;
    uint32_t seq, ack;
    uint16_t off_flags; // offset: 4 bits, reserved: 3, flags: 9
    uint16_t window_size, checksum, pad;
  } __attribute__((packed))
]]}

fields.u16(tcp, "src_port", "src_port")
fields.u16(tcp, "dst_port", "dst_port")
fields.u32(tcp, "seq_num", "seq")
fields.u32(tcp, "ack_num", "ack")
fields.bits16(tcp, "offset", "off_flags", 0, 4)
fields.bits16(tcp, "flags", "off_flags", 7, 9)
fields.u16(tcp, "window_size", "window_size")

local FLAGS = {"ns", "cwr", "ece", "urg", "ack", "psh", "rst", "syn", "fin"}
for i, name in ipairs(FLAGS) do fields.bits16(tcp, name, "off_flags", 6 + i, 1) end

--- A header of `src_port`, `dst_port`, `seq_num`, `ack_num`, `window_size`, `offset`
--- (in words of 4 bytes) and the flags `ns`, `cwr`, `ece`, `urg`, `ack`, `psh`, `rst`,
--- `syn`, `fin`; all 0 if not given.
function tcp:new(config)
  if type(config) ~= "table" then check.fields("tcp", config) end
  local o = tcp:superClass().new(self)
  o:src_port(config.src_port)
  o:dst_port(config.dst_port)
  o:seq_num(config.seq_num)
  o:ack_num(config.ack_num)
  o:window_size(config.window_size)
  o:offset(config.offset)
  for _, name in ipairs(FLAGS) do o[name](o, config[name]) end
  return o
end

--- Set the checksum for `length` bytes at `payload`, with the pseudo header of `ip` if
--- given. Without arguments nothing is set. Returns the checksum.
function tcp:checksum(payload, length, ip)
  if payload then transport.set(self, PROTOCOL, payload, length, ip) end
  return (lib.ntohs(self:header().checksum))
end

--- Are ports and numbers those of `other`?
function tcp:eq(other)
  return self:src_port() == other:src_port() and self:dst_port() == other:dst_port()
    and self:seq_num() == other:seq_num() and self:ack_num() == other:ack_num()
end

return tcp
