-- SPDX-License-Identifier: Apache-2.0
-- The thread that a packet is on, as Click has it: the one that made or pulled it. In a
-- router over several threads (click.threads.division) an element runs on one of them,
-- to which others hand their packets, with this note: 0, if the packet is this
-- thread's, else one more than the thread's number.

local note = require("click.note")

local packet_thread = {}

local THREAD = note.THREAD

packet_thread.MOST = 254 -- the largest number that can be noted

--- The number of the router's own thread, or of this copy of it; an element may have
--- no router, and is on thread 0.
function packet_thread.own(router)
  local options = router and router.options or {}
  return options.part or options.copy and options.copy.number or 0
end

--- The number of the packet's thread; `own` is that of the router.
function packet_thread.of(p, own)
  local noted = p.note8[THREAD]
  return noted == 0 and own or noted - 1
end

--- The same at an element of `router`, whichever that is: one in parts or not.
function packet_thread.at(p, router)
  local part = router and router.options and router.options.part
  return part and packet_thread.of(p, part) or packet_thread.own(router)
end

--- Note that the packet is of thread `own`, unless it comes from another one.
function packet_thread.leave(p, own)
  if p.note8[THREAD] == 0 then p.note8[THREAD] = own + 1 end
end

--- The packet is the router's own from here on.
function packet_thread.take(p) p.note8[THREAD] = 0 end

return packet_thread
