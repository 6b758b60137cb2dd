-- SPDX-License-Identifier: Apache-2.0
-- libmoon's methods of packets: bytes and sizes, timestamps, VLAN tags, dumps, casts
-- and what is left to the device. They replace those of lib.stack in this Lua state,
-- where a packet's stacks are libmoon's.

local bit = require("bit")
local C = require("core.declare")("native/moongen.h")
local ffi = require("ffi")
local arguments = require("moongen.arguments")
local casts = require("moongen.packets.casts")
local checked = require("moongen.checked")
local constants = require("moongen.packets.constants")
local offload = require("moongen.packets.offload")
local packet = require("core.packet")
local resolve = require("moongen.packets.resolve")
require("moongen.packets.proto")

local methods = packet.methods
local band, bor, rshift = bit.band, bit.bor, bit.rshift
local cast = ffi.cast
local void_pointer = ffi.typeof("void *")

--- The packet's first byte, as a void pointer.
function methods.getData(p)
  return (cast(void_pointer, p.buf_addr + p.data_off))
end

--- The same as a uint8_t pointer.
function methods.getBytes(p)
  return p.buf_addr + p.data_off
end

--- Bytes of the packet, without CRC.
function methods.getSize(p)
  return p.data_len
end

local function bad_size(p, size)
  error(("this buffer holds 0 to %d bytes, not %s"):format(p.buf_len - p.data_off,
    tostring(size)), 4)
end

--- Make the packet `size` bytes long; bytes new in it are what they were.
function methods.setSize(p, size)
  if not (size >= 0 and size <= p.buf_len - p.data_off) then bad_size(p, size) end
  p.pkt_len = size
  p.data_len = size
end

--- Make the packet the bytes of the string, no more and no less.
function methods.setRawPacket(p, bytes)
  if type(bytes) ~= "string" then
    error(("setRawPacket takes a string, not a %s"):format(type(bytes)), 3)
  end
  if #bytes > p.buf_len - p.data_off then bad_size(p, #bytes) end
  p.pkt_len, p.data_len = #bytes, #bytes
  ffi.copy(p.buf_addr + p.data_off, bytes, #bytes)
end

-- The packet without `bytes` bytes, whose start moves by `offset`.
local function shorten(p, bytes, offset)
  if not (bytes >= 0 and bytes <= p.data_len) then
    error(("this packet has 0 to %d bytes to remove, not %s"):format(p.data_len,
      tostring(bytes)), 4)
  end
  p.data_off = p.data_off + offset
  p.pkt_len = p.data_len - bytes
  p.data_len = p.pkt_len
end

--- Take bytes off the packet's start.
function methods.removeFirst(p, bytes) shorten(p, bytes, bytes) end

--- Take bytes off its end.
function methods.removeLast(p, bytes) shorten(p, bytes, 0) end

--- Give the buffer back to its pool.
function methods.free(p)
  if C.mg_free_one(p) < 0 then
    error("a buffer is freed that was sent or freed already", 3)
  end
end

local HAS_VLAN = bor(constants.PKT_RX_VLAN_PKT, constants.PKT_TX_VLAN_PKT)

--- Identifier, priority and cfi of the tag that setVlan gave the packet, or that its
--- device took off it; nil if there is none.
function methods.getVlan(p)
  if band(p.ol_flags, HAS_VLAN) == 0 then return nil end
  local tci = p.vlan_tci
  return band(tci, 0xfff), rshift(tci, 13), band(rshift(tci, 12), 1)
end

--- What IPsec in the card found: no card here has it.
function methods.getSecFlags() return 0, 0 end

function methods.dumpFlags(p)
  require("log"):debug(tostring(p.ol_flags) .. " " .. tostring(p.tx_offload))
end

--- The packet's headers, as far as they are known: slow.
function methods.get(p)
  return resolve(p.buf_addr + p.data_off, p.data_len)
end

--- Write the packet's headers and its first `bytes` bytes (nil: all) in hex to `stream`
--- (nil: standard output), in colours if `colored`, or (nil) to a terminal; as text for
--- Wireshark to import if `wireshark`. Not what is behind its buffer. Slow.
function methods.dump(p, bytes, stream, colored, wireshark)
  if type(bytes) == "userdata" then
    bytes, stream, colored, wireshark = nil, bytes, stream, colored
  end
  bytes = bytes or p.data_len
  if type(bytes) ~= "number" then
    error(("dump takes a number of bytes, not '%s'"):format(tostring(bytes)), 3)
  end
  methods.get(p):dump(math.min(bytes, p.buf_len - p.data_off), stream, colored,
    wireshark)
end

-- Until 2015 a buffer's fields were in a struct of its own: buf.pkt.data, pkt_len.
function packet.properties.pkt(p) return p end

offload.add_to(methods)
arguments.methods(methods, "a buffer", ffi.typeof("struct packet"), {
  getData = "", getBytes = "", getSize = "", setSize = "number", setRawPacket = "any",
  removeFirst = "number", removeLast = "number",
  free = "", getVlan = "", get = "", dump = "any?, any?, any?, any?",
  setVlan = "number, number?, number?", offloadIPChecksum = "any?, number?, number?",
  offloadUdpChecksum = "any?, number?, number?",
  offloadTcpChecksum = "any?, number?, number?",
})
checked.guard(methods, "free")

-- Each cast is made when it is first asked for.
for name in pairs(casts.names) do methods[name] = nil end
setmetatable(methods, {__index = function (made, name)
  local made_now = casts.names[name] and casts[name] or nil
  if made_now then rawset(made, name, made_now) end
  return made_now
end})

return methods
