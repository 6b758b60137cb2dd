-- SPDX-License-Identifier: Apache-2.0
-- CopyFlowID and CopyTCPSeq: what packets from input 0 to output 0 have is written into
-- those from input 1 to output 1.

local bit = require("bit")
local ffi = require("ffi")
local element = require("click.element")
local stream = require("click.flow.stream")
local wire = require("click.net.wire")

local words_t = ffi.typeof("int32_t *")
local SOURCE, DESTINATION = 3, 4 -- words of the IP header
local SEQUENCE = 1               -- of TCP's
local FROM, TO = 1, 2
local NOT_TCP, NOTHING_YET = 1, 2
local DROPS = {"no TCP", "nothing to copy yet"}

-- A class of which note(self, ip, tcp, segment) keeps something of a packet's headers,
-- and write(self, ip, tcp) writes it; `kept` says whether there is something.
local function define(class, note, write)
  class.ports, class.flow, class.reads = "2/2", "#/#", {"NETWORK_HEADER"}
  class.drops, class.division = DROPS, "none"
  class.undivided = "it is for one connection"
  class.handlers = {reset = element.command(function (self) self.kept = false end)}
  local defined = element.define(class)

  function defined:configure()
    self.segment, self.kept = stream.segment(), false
  end

  function defined:process(p, i)
    local s = self.segment
    if not stream.look(p, s) then return nil, NOT_TCP end
    local ip = ffi.cast(words_t, p.data + s.ip)
    local tcp = ffi.cast(words_t, p.data + s.tcp)
    if i == FROM then
      note(self, ip, tcp, s)
      self.kept = true
      return p, FROM
    end
    if not self.kept then return nil, NOTHING_YET end
    write(self, ip, tcp)
    wire.barrier()
    return p, TO
  end

  return defined
end

local CopyFlowID = define({
  name = "CopyFlowID", summary = "copies addresses and ports from packets to others",
  notes = "Those of the first packet from input 0 to output 0 since the start, or "
    .. "since `reset` was written, are written into packets from input 1 to output 1. "
    .. "Checksums stay as they are: SetTCPChecksum and SetIPChecksum follow.",
  differs = "Click writes zeros while it has seen none; here packets are dropped then.",
}, function (self, ip, tcp)
  if self.kept then return end
  self.source, self.destination, self.ports = ip[SOURCE], ip[DESTINATION], tcp[0]
end, function (self, ip, tcp)
  ip[SOURCE], ip[DESTINATION], tcp[0] = self.source, self.destination, self.ports
end)

local CopyTCPSeq = define({
  name = "CopyTCPSeq", summary = "copies the highest TCP sequence number to others",
  notes = "The highest of the packets from input 0 to output 0 is written into those "
    .. "from input 1 to output 1. `reset` forgets it. Checksums stay as they are: "
    .. "SetTCPChecksum follows.",
  differs = "Click writes any number while it has seen none; here packets are dropped "
    .. "then.",
}, function (self, _, _, segment)
  local seq = bit.tobit(segment.seq)
  if not self.kept or bit.tobit(seq - self.seq) > 0 then self.seq = seq end
end, function (self, _, tcp)
  tcp[SEQUENCE] = wire.word_of(self.seq)
end)

return {CopyFlowID, CopyTCPSeq}
