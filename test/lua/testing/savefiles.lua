-- SPDX-License-Identifier: Apache-2.0
-- For the tests: savefiles put together from bytes, in either byte order, without
-- the writer. The layouts are those of the two format drafts (see format.lua).

local ffi = require("ffi")
local reader = require("lib.pcap.reader")

local M = {}

local Bytes = {}
Bytes.__index = Bytes

local function digits(value, size)
  local bytes = {}
  for i = 1, size do
    bytes[i] = string.char(value % 256)
    value = math.floor(value / 256)
  end
  return table.concat(bytes)
end

--- A builder for byte order "little" or "big".
function M.order(order)
  return setmetatable({big = order == "big"}, Bytes)
end

local function number(self, value, size)
  local bytes = digits(value, size)
  return self.big and bytes:reverse() or bytes
end

function Bytes:u16(value) return number(self, value, 2) end
function Bytes:u32(value) return number(self, value, 4) end
function Bytes:u64(value) return number(self, value, 8) end

--- A pcap file header. `o`: magic, major, minor, snaplen, linktype.
function Bytes:pcap_header(o)
  o = o or {}
  return self:u32(o.magic or 0xa1b2c3d4) .. self:u16(o.major or 2)
    .. self:u16(o.minor or 4) .. self:u32(0) .. self:u32(0)
    .. self:u32(o.snaplen or 65535) .. self:u32(o.linktype or 1)
end

--- A pcap record of `data`; `o`: sec, fraction, captured, original.
function Bytes:record(data, o)
  o = o or {}
  return self:u32(o.sec or 0) .. self:u32(o.fraction or 0)
    .. self:u32(o.captured or #data) .. self:u32(o.original or #data) .. data
end

local function pad(data)
  return data .. ("\0"):rep(-#data % 4)
end

--- A pcapng block with `body`, padded, and the right length unless one is given.
function Bytes:block(type, body, length)
  body = pad(body)
  length = length or #body + 12
  return self:u32(type) .. self:u32(length) .. body .. self:u32(length)
end

function Bytes:option(code, data)
  return self:u16(code) .. self:u16(#data) .. pad(data)
end

--- A section header block. `o`: major, options (bytes).
function Bytes:section(o)
  o = o or {}
  return self:block(0x0a0d0d0a, self:u32(0x1a2b3c4d) .. self:u16(o.major or 1)
                    .. self:u16(0) .. ("\255"):rep(8) .. (o.options or ""))
end

--- An interface description block. `o`: linktype, snaplen, options (bytes).
function Bytes:interface(o)
  o = o or {}
  return self:block(1, self:u16(o.linktype or 1) .. self:u16(0)
                    .. self:u32(o.snaplen or 0) .. (o.options or ""))
end

--- An enhanced packet block. `o`: interface, high, low (time), captured, original,
--- options (bytes).
function Bytes:enhanced(data, o)
  o = o or {}
  return self:block(6, self:u32(o.interface or 0) .. self:u32(o.high or 0)
                    .. self:u32(o.low or 0) .. self:u32(o.captured or #data)
                    .. self:u32(o.original or #data) .. pad(data)
                    .. (o.options or ""))
end

--- A simple packet block of `data`, of a packet of `original` bytes.
function Bytes:simple(data, original)
  return self:block(3, self:u32(original or #data) .. data)
end

--- An obsolete packet block. `o`: interface, drops, high, low, original.
function Bytes:obsolete(data, o)
  o = o or {}
  return self:block(2, self:u16(o.interface or 0) .. self:u16(o.drops or 0)
                    .. self:u32(o.high or 0) .. self:u32(o.low or 0)
                    .. self:u32(#data) .. self:u32(o.original or #data) .. data)
end

--- Write `bytes` to the file `path`.
function M.save(path, bytes)
  local file = assert(io.open(path, "wb"))
  assert(file:write(bytes))
  assert(file:close())
end

--- The bytes of the file `path`.
function M.load(path)
  local file = assert(io.open(path, "rb"))
  local bytes = file:read("*a")
  file:close()
  return bytes
end

--- The packets of the savefile `path`: an array of {data, original, time}.
function M.packets(path)
  local file, packets = reader.open(path), {}
  while true do
    local data, captured, original, time = file:next()
    if not data then break end
    packets[#packets + 1] = {data = ffi.string(data, captured), original = original,
                             time = time}
  end
  file:close()
  return packets
end

return M
