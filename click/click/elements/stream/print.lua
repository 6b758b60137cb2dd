-- SPDX-License-Identifier: Apache-2.0
-- CTXASCIIPrint and CTXCRC look at what streams carry.

local ffi = require("ffi")
local C = require("core.declare")("native/crc32.h")
local element = require("click.element")
local state = require("click.flow.state")
local stream = require("click.flow.stream")

local NO_STREAM = 1

local CTXASCIIPrint = element.define{
  name = "CTXASCIIPrint", summary = "prints what streams carry, as text",
  processing = "h/h", division = "flow", reads = {"NETWORK_HEADER", "FLOW_ID"},
  lengthens = 0,
  arguments = {{"ACTIVE", "bool", default = true, keyword = true}},
  notes = "Behind TCPIn (or IPIn and UDPIn). Bytes that aren't printable ASCII are "
    .. "written as dots. What isn't of a stream passes.",
  differs = "FastClick's prints a flow's part of a batch at once, here each packet.",
}

function CTXASCIIPrint:configure(a) self.active = a.ACTIVE end

function CTXASCIIPrint:initialize()
  local source = stream.source(self)
  if source == false then return end
  self.look, self.segment = stream.looker(source), stream.segment()
end

function CTXASCIIPrint:process(p)
  local s = self.segment
  if self.active and self.look(p, s) and s.now > 0 then
    local text = ffi.string(p.data + s.payload, s.now)
    self:say("Content of the stream:")
    self:say("%s", (text:gsub("[^\32-\126\n\t]", ".")))
  end
  return p
end

-- CTXCRC -----------------------------------------------------------------------------

local CTXCRC = element.define{
  name = "CTXCRC", summary = "sums up what each flow carries", ports = "1/1-2",
  processing = "h/h", division = "flow", reads = {"NETWORK_HEADER", "FLOW_ID"},
  lengthens = 0, drops = {"no flow"},
  flow_state = ffi.typeof("uint64_t"), flow_moves = true,
  notes = "Work for the CPU, of which nothing can be seen, as in FastClick: a CRC of "
    .. "each payload is added up for its flow. What isn't of a stream passes.",
}

function CTXCRC:initialize()
  local source = stream.source(self)
  if source == false then return end
  self.look, self.segment = stream.looker(source), stream.segment()
  self.area_of = state.of(self)
end

function CTXCRC:process(p)
  local area = self.area_of(p)
  if not area then return nil, NO_STREAM end
  local s = self.segment
  if self.look(p, s) and s.now > 0 then
    area[0] = area[0] + C.pg_crc32_mpeg2(p.data + s.payload, s.now)
  end
  return p
end

return {CTXASCIIPrint, CTXCRC}
