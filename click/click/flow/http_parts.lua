-- SPDX-License-Identifier: Apache-2.0
-- What HTTPIn, HTTPOut and the elements between have in common: packets of one part of
-- a message each, and changes to parts that are in several packets.

local bit = require("bit")

local C = require("core.declare")("net/stream/stream.h")
local front = require("click.net.front")
local note = require("click.note")
local packet = require("core.packet")
local stream = require("click.flow.stream")

local parts = {}

local FLAGS, PUSH_AND_FIN = 13, bit.bor(stream.PUSH, stream.FIN)

--- The annotation that says what of a message a packet has, and what it may say. NONE:
--- nothing, such as an acknowledgement; HEAD: of a head, a trailer section, or what
--- isn't HTTP any more; CONTENT; LAST: content up to the message's end; END: the
--- beginning of a chunked message's last chunk.
parts.NOTE = note.HTTP_PART
parts.NONE, parts.HEAD, parts.CONTENT, parts.LAST, parts.END = 0, 1, 2, 3, 4

local scratch = stream.segment()

--- The first `n` bytes of the payload, fewer than it has, as a packet: `p` keeps the
--- rest. `s` is the segment of `p`, before and then.
function parts.split(p, s, n)
  local q = front.clone(p)
  q.data[s.tcp + FLAGS] = bit.band(s.flags, bit.bnot(PUSH_AND_FIN))
  C.pg_stream_trim(q, s, n)
  C.pg_stream_cut(p, s, n, s.length - n)
  stream.look(p, s)
  return q
end

--- Put `text` in the place of `n` bytes, 1 or more, from `at` on, which the packets of
--- the list have together, behind the first list.behind bytes. False if that can't be.
function parts.edit(changes, list, at, n, text)
  local place = at - list.behind
  if place < 0 then return false end
  for _, p in ipairs(list) do
    if n == 0 then break end
    if not stream.look(p, scratch) then return false end
    local here = math.min(n, scratch.now - place)
    if here > 0 then
      local piece = here == n and text or ""
      if stream.edit(changes, p, scratch, place, here, piece) then return false end
      n, place = n - here, 0
    else
      place = place - scratch.now
    end
  end
  return n == 0
end

--- Free the packets of the list, and empty it.
function parts.free(list)
  for i = #list, 1, -1 do
    packet.free(list[i])
    list[i] = nil
  end
end

return parts
