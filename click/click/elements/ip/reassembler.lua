-- SPDX-License-Identifier: Apache-2.0
-- IPReassembler: keeps fragments of IPv4 datagrams until all are there
-- (click.net.reassembly), for as long and as many as its limits say.

local bit = require("bit")
local C = require("core.declare")("net/fragment/fragment.h")
local ffi = require("ffi")
local element = require("click.element")
local note = require("click.note")
local packet = require("core.packet")
local read16 = require("net.wire.bytes").read16
local reassembly = require("click.net.reassembly")
local wire = require("click.net.wire")

local band, bor, lshift = bit.band, bit.bor, bit.lshift
local NETWORK, TRANSPORT, TIMESTAMP =
  note.NETWORK_HEADER, note.TRANSPORT_HEADER, note.TIMESTAMP
local MINIMAL, OVERHEAD = 20, 40 -- bytes; those a datagram counts beside its own
local FLAGS, MORE, OFFSET = 6, 0x20, 0x1f
local KEPT_FOR, LOOK_EVERY, SECOND = 30, 10, 1e9 -- seconds; nanoseconds in one
local LONGEST, LONGEST_HEADER = 0xffff, 60

local IPReassembler = element.define{
  name = "IPReassembler", summary = "Reassembles fragmented IP packets",
  division = "addresses",
  ports = "1/1-2", processing = "a/ah", emits = true,
  arguments = {
    {"HIMEM", "unsigned", default = 256 * 1024, keyword = true},
    {"MAX_MTU_ANNO", "anno", size = 2, keyword = true},
  },
  drops = {"no IP header", "bad fragment", "too long"},
}
local NO_HEADER, BAD_FRAGMENT, TOO_LONG = 1, 2, 3

function IPReassembler:configure(a)
  local copy = self.router.options and self.router.options.copy -- of several
  local most = copy and math.ceil(a.HIMEM / copy.of) or a.HIMEM
  self.most, self.least = most, math.floor(most / 4) * 3
  self.mtu_note = a.MAX_MTU_ANNO and note.FIRST + a.MAX_MTU_ANNO
  self.datagrams, self.used, self.look_at = {}, 0, 0
  self.fragments, self.good, self.failed, self.bad = 0, 0, 0, 0
end

function IPReassembler:cleanup()
  for _, d in pairs(self.datagrams or {}) do d:free() end
  self.datagrams = {}
end

local function forget(self, key, d)
  self.datagrams[key] = nil
  self.used = self.used - OVERHEAD - d:reached()
end

-- Give the datagram up: what there is of it leaves by the second output.
local function give_up(self, key, d)
  forget(self, key, d)
  if self.noutputs == 2 then
    local q = d:finish(d.time * SECOND)
    if q then self.emit(2, q) end
  else
    d:free()
  end
end

local function reap(self, now)
  for key, d in pairs(self.datagrams) do
    if d.time < now - KEPT_FOR then give_up(self, key, d) end
  end
  self.look_at = now + LOOK_EVERY
end

-- Make room: the oldest go first, about.
local function reap_overfull(self, now)
  for age = 10, 0, -5 do
    for key, d in pairs(self.datagrams) do
      if age == 0 or d.time < now - age then
        give_up(self, key, d)
        self.failed = self.failed + 1
        if self.used <= self.least then return end
      end
    end
  end
end

-- Where the fragment's payload belongs, and whether more follows; nil and the number of
-- a drop if it's unsound, or of a datagram that is longer than IP can say.
local function place_of(p, ip)
  local header, total = p.note16[TRANSPORT] - p.note16[NETWORK],
    read16(ip + 2)
  local first = lshift(bor(lshift(band(ip[FLAGS], OFFSET), 8), ip[FLAGS + 1]), 3)
  local last, more = first + total - header, band(ip[FLAGS], MORE) ~= 0
  local available = p.data_off + p.length - p.note16[TRANSPORT]
  if last <= first or more and last % 8 ~= 0 or available < last - first then
    return nil, BAD_FRAGMENT
  end
  if header + last > LONGEST then return nil, TOO_LONG end
  return first, last, more
end

-- What fragments of a datagram have in common: addresses, identification, protocol.
local function key_of(ip)
  return ffi.string(ip + 12, 8) .. ffi.string(ip + 4, 2) .. string.char(ip[9])
end

local function seconds_of(self, p)
  if p.note64[TIMESTAMP] == 0 then p.note64[TIMESTAMP] = self.router:nanoseconds() end
  return tonumber(p.note64[TIMESTAMP]) / SECOND
end

-- A fragment that is counted as bad.
local function refuse(self, reason)
  self.bad = self.bad + 1
  return nil, reason
end

-- All of the datagram is there with `p`, which ends here.
local function finish(self, key, d, p)
  forget(self, key, d)
  local q = d:finish(p.note64[TIMESTAMP])
  if not q then
    local no, reason = refuse(self, TOO_LONG) -- for a packet
    return no, reason
  end
  self.good = self.good + 1
  packet.free(p)
  if self.mtu_note then
    ffi.cast("uint16_t *", q.note8 + self.mtu_note)[0] = d.longest
  end
  return q
end

local function take(self, p, ip)
  self.fragments = self.fragments + 1
  local now = seconds_of(self, p)
  if now >= self.look_at then reap(self, now) end
  local first, last, more = place_of(p, ip)
  if not first then return refuse(self, last) end
  if self.used > self.most then reap_overfull(self, now) end
  local key = key_of(ip)
  local d = self.datagrams[key]
  if not d then
    d = reassembly.new(p)
    d.time = now
    self.datagrams[key] = d
    self.used = self.used + OVERHEAD
  end
  local before = d:reached()
  local result = d:add(p, first, last, more)
  if result == C.REASSEMBLY_INVALID then return refuse(self, BAD_FRAGMENT) end
  if result == C.REASSEMBLY_TOO_LONG then return refuse(self, TOO_LONG) end
  self.used = self.used + d:reached() - before
  if result == C.REASSEMBLY_COMPLETE then return finish(self, key, d, p) end
  packet.free(p)
  return false
end

function IPReassembler:process(p)
  local at, limit = p.note16[NETWORK], p.data_off + p.length
  local header = p.note16[TRANSPORT] - at
  if at == 0 or at + MINIMAL > limit or header < MINIMAL or header > LONGEST_HEADER then
    return nil, NO_HEADER
  end
  local ip = p.buf_addr + at
  if band(ip[FLAGS], MORE + OFFSET) == 0 and ip[FLAGS + 1] == 0 then return p end
  local q, o = take(self, p, ip)
  return q, o
end

local function dump(e)
  local lines = {
    ("frags seen total:    %d\n"):format(e.fragments),
    ("good reassemblies:   %d\n"):format(e.good),
    ("failed reassemblies: %d\n"):format(e.failed),
    ("bad fragments seen:  %d\n"):format(e.bad), "cached chunk data:\n",
  }
  for key, d in pairs(e.datagrams) do
    lines[#lines + 1] = (" %s > %s %d%s\n"):format(wire.word_text(wire.word(key)),
      wire.word_text(wire.word(key, 4)), wire.swap16(wire.half(key, 8)),
      d:ranges())
  end
  return table.concat(lines)
end

IPReassembler.handlers = {dump = {read = dump}}

return {IPReassembler}
