-- SPDX-License-Identifier: Apache-2.0
-- Conversations over TCP in a capture file: how much one side asked and the other
-- answered, in turn, and how long it was silent before. Of packets only the headers are
-- looked at, so that cut ones do, too.

local C = require("core.declare")("net/ip/transport.h")
local bytes = require("net.wire.bytes")
local failure = require("core.failure")
local ffi = require("ffi")
local reader = require("lib.pcap.reader")

local M = {}

local IP6, TCP = 40, 20 -- bytes of their headers
local PROTOCOL = 6
local SYN, ACK = 2, 16
local MOST_TURNS = 1000000
local LONGEST = 2^30 -- bytes of a message
local MOST_THINK_S = 86400

local read16, read32 = bytes.read16, bytes.read32

local t = ffi.new("struct transport")

-- Of a frame: both addresses as one string, where TCP is, and the bytes from there on.
local function transport(data, n)
  if not C.pg_transport(t, data, n) or t.protocol ~= PROTOCOL or t.fragment then
    return nil
  end
  local ip, is_ip4 = data + t.ip, t.version == 4
  local addresses, size = ip + (is_ip4 and 12 or 8), is_ip4 and 4 or 16
  local length = read16(ip + (is_ip4 and 2 or 4)) -- 0: the sender's device fills it in
  local total = length > 0 and length + (is_ip4 and 0 or IP6) or t["end"] - t.ip
  return ffi.string(addresses, size), ffi.string(addresses + size, size), t.l4,
    total - (t.l4 - t.ip)
end

-- A segment: {from, to (address and port), flags, seq, length}; nil: it isn't one.
local function segment(data, n)
  local from, to, at, rest = transport(data, n)
  if not from or n < at + TCP then return nil end
  local header = bit.rshift(data[at + 12], 4) * 4
  local length = rest - header
  if header < TCP or length < 0 then return nil end
  return {from = from .. ffi.string(data + at, 2),
          to = to .. ffi.string(data + at + 2, 2), flags = data[at + 13],
          seq = read32(data + at + 4), length = length}
end

local function end_of(s)
  return (s.seq + s.length + bit.band(s.flags, SYN) / SYN) % 2^32
end

-- Bytes up to the segment's end that hadn't come before; `state` is of its direction.
-- What is missing in between is lost, and will come again, or wasn't captured.
local function fresh(state, s)
  local ends = end_of(s)
  if not state.next then
    state.next = ends
    return s.length
  end
  local more = (ends - state.next) % 2^32
  if s.length == 0 or more >= 2^31 then return 0 end
  state.next = ends
  return more
end

local function add_request(talk, n, seconds)
  local turn = talk[#talk]
  if not turn or turn.response > 0 then
    turn = {request = 0, response = 0, think = turn and seconds - talk.last or 0}
    talk[#talk + 1] = turn
  end
  turn.request = turn.request + n
end

-- Who speaks first without having been asked is taken to have been asked.
local function add_response(talk, n)
  if #talk == 0 then talk[1] = {request = 0, response = 0, think = 0} end
  talk[#talk].response = talk[#talk].response + n
end

local function take(talks, s, seconds)
  local opens = bit.band(s.flags, SYN + ACK) == SYN
  local talk = talks[s.from .. s.to] or talks[s.to .. s.from]
  if not talk or opens and talk[s.from].next ~= end_of(s) then -- no SYN sent again
    local answers = bit.band(s.flags, SYN + ACK) == SYN + ACK
    talk = {client = answers and s.to or s.from, [s.from] = {}, [s.to] = {}}
    talks[s.from .. s.to], talks[s.to .. s.from] = talk, nil
    talks[#talks + 1] = talk
  end
  local n = fresh(talk[s.from], s)
  if n == 0 then return end
  if s.from == talk.client then
    add_request(talk, n, seconds)
  else
    add_response(talk, n)
  end
  talk.last = seconds
end

-- A turn as it is done again: each message has a byte at least.
local function whole(turn)
  return {request = math.max(1, math.min(turn.request, LONGEST)),
          response = math.max(1, math.min(turn.response, LONGEST)),
          think = math.max(0, math.min(turn.think, MOST_THINK_S))}
end

--- The conversations of the savefile, in the order in which they began: a list of lists
--- of {request, response (bytes, at least 1), think (seconds before the request; the
--- first: 0)}; `turns`: how many in all. Raises a sentence if there is none.
function M.read(file)
  local source, talks = reader.open(file), {}
  while true do
    local data, n, _, time = source:next()
    if not data then break end
    local s = segment(data, n)
    if s then take(talks, s, tonumber(time) / 1e9) end
  end
  source:close()
  local list = {turns = 0}
  for _, talk in ipairs(talks) do
    if #talk > 0 and list.turns + #talk <= MOST_TURNS then
      local turns = {}
      for i, turn in ipairs(talk) do turns[i] = whole(turn) end
      list[#list + 1], list.turns = turns, list.turns + #turns
    end
  end
  if #list == 0 then
    failure.usage("%s has no TCP connection over which something was said", file)
  end
  return list
end

return M
