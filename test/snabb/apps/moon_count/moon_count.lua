-- SPDX-License-Identifier: Apache-2.0
-- Apps of Snabb's form that use libmoon's modules.

module(..., package.seeall)

local ffi = require("ffi")
local log = require("log")
local memory = require("memory")
local pcap = require("pcap")
local link = require("core.link")
local packet = require("core.packet")

Reader = {}

function Reader:new(file)
  return setmetatable({reader = pcap:newReader(file), pool = memory.createMemPool(),
    held = ffi.new("struct rte_mbuf *[1]")}, {__index = Reader})
end

function Reader:pull()
  while not link.full(self.output.output) do
    local buf = self.reader:readSingle(self.pool, 1600)
    if not buf then break end
    self.held[0] = packet.from_pointer(buf:getBytes(), buf:getSize())
    link.transmit(self.output.output, self.held[0])
    buf:free()
  end
end

function Reader:stop() self.reader:close() end

Count = {}

function Count:new()
  return setmetatable({n = 0, bufs = memory.bufArray(link.max)}, {__index = Count})
end

function Count:push()
  local n = link.nreadable(self.input.input)
  for i = 1, n do
    self.bufs[i] = link.receive(self.input.input)
    self.n = self.n + 1
  end
  for i = 1, n do packet.free(self.bufs[i]) end
end

function Count:report() log:info("counted %d packets", self.n) end
