-- SPDX-License-Identifier: Apache-2.0
-- Reads packets from a savefile, pcap or pcapng, whichever it is. Packets are
-- handed out in place: no Lua string and no copy is made.

local ffi = require("ffi")
local failure = require("core.failure")
local format = require("lib.pcap.format")
local input = require("lib.pcap.input")
local savefile = require("lib.pcap.savefile")
local pcapng = require("lib.pcap.pcapng")

local M = {}

local Reader = {}
Reader.__index = Reader

local function is_pcapng(magic)
  return magic == format.SECTION_HEADER
end

local function refuse(file)
  local head = {}
  for i = 0, math.min(4, file:available()) - 1 do
    head[i + 1] = ("%02x"):format(file.window[file.cursor + i])
  end
  if #head == 0 then
    failure.raise("%s is empty; a pcap or pcapng file is wanted", file.path)
  end
  failure.raise("%s is neither a pcap nor a pcapng file: it begins with the bytes %s",
                file.path, table.concat(head, " "))
end

local function choose(file, any_link)
  if not file:need(4) then
    refuse(file)
  end
  local magic = ffi.cast("const uint32_t *", file.window)[0]
  if savefile.is_magic(magic) then
    return savefile.new(file, any_link)
  elseif is_pcapng(magic) then
    return pcapng.new(file, any_link)
  end
  refuse(file)
end

--- Open the savefile `path`. Raises a failure when it can't be read, is neither
--- pcap nor pcapng, or isn't of Ethernet, unless `options.any_link` (then its
--- interfaces are of the same link type). Sentences call it `options.name`, if there
--- is one. The result's fields: `path`, `format` ("pcap" or "pcapng"), `linktype` (as
--- in the file; nil if it doesn't say before its first packet), and for pcap
--- `resolution` ("us" or "ns") and `swap` (written in the other byte order).
function M.open(path, options)
  local file = input.open(path, options and options.name)
  local ok, records = pcall(choose, file, options and options.any_link)
  if not ok then
    file:close()
    error(records, 0)
  end
  return setmetatable({
    path = path,
    format = records.format,
    resolution = records.resolution,
    swap = records.swap,
    snaplen = records.snaplen,
    linktype = records.linktype,
    records = records,
  }, Reader)
end

--- The next packet: a pointer to its bytes, the number of bytes captured, the
--- number the packet had on the wire (at least the captured ones), and its time in
--- nanoseconds since 1970 (int64; 0 where the file has none). The pointer is valid
--- until the next call. Returns nil at the end of the file. Raises a failure when
--- the file is cut or damaged there; all packets before that have been returned.
function Reader:next()
  return self.records:next()
end

--- The same if the next packet is at hand: in memory, with nothing that may go wrong.
--- If not, nil; `next` tells why. It raises nothing.
function Reader:quick()
  return self.records:quick()
end

--- Have more of the file at hand, if it may help `quick`. It raises nothing.
function Reader:refill()
  self.records:refill()
end

--- Go back to the first packet. Raises a failure for what can't be read twice, such
--- as a pipe.
function Reader:rewind()
  self.records:rewind()
end

--- The number of packets returned since the file's start.
function Reader:packets()
  return self.records.packets
end

--- Close the file; `next` returns nil from then on. May be called twice.
function Reader:close()
  self.records.input:close()
end

return M
