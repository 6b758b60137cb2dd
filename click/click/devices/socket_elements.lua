-- SPDX-License-Identifier: Apache-2.0
-- What elements have in common whose packets go out by sockets and come in by them:
-- Socket, McastSocket and RawSocket. The class has self.receiver and self.sender,
-- sockets of devices/packet_socket or nil, and methods
--
--     accepts(from)      whether to take a packet from there
--     destination(p)     where to send the packet; nil for a connected socket
--     broken(problem)    the socket is no more (problem is nil at a stream's end)
--     prepare()          called before packets are received; may be absent
--     suits(p)           whether a packet that was received is sound; may be absent
--     refuses(p)         whether a packet can't be sent at all; may be absent

local C = require("core.native")
local drops = require("core.fuse.drops")
local note = require("click.note")
local packet = require("core.packet")
local signals = require("click.router.signals")

local socket_elements = {}

local EXTRA_LENGTH, TIMESTAMP = note.EXTRA_LENGTH, note.TIMESTAMP
local BURST = 32
local WAIT_MS = 20
local NOT_CONNECTED, NOT_TAKEN = 1, 2

--- What may become of a packet that is to be sent.
socket_elements.drops = {"not connected", "the socket doesn't take it"}

--- Arguments that these elements share.
socket_elements.arguments = {
  {"SNAPLEN", "unsigned", default = 2048, min = 1, max = packet.max_payload,
   keyword = true},
  {"HEADROOM", "unsigned", keyword = true},
  {"TIMESTAMP", "bool", default = true, keyword = true},
  {"RCVBUF", "int", default = -1, keyword = true},
  {"SNDBUF", "int", default = -1, keyword = true},
}

--- Take those arguments.
function socket_elements.configure(e, a)
  e.snaplen, e.stamps, e.receive_buffer, e.send_buffer =
    a.SNAPLEN, a.TIMESTAMP, a.RCVBUF, a.SNDBUF
end

--- Set the buffers of its sockets; what is wrong, or nil.
function socket_elements.set_buffers(e, receiver, sender)
  return e.receive_buffer >= 0 and receiver:set("SO_RCVBUF", e.receive_buffer)
    or e.send_buffer >= 0 and sender:set("SO_SNDBUF", e.send_buffer) or nil
end

-- Receiving ------------------------------------------------------------------------

-- Receive a packet and send it on. False if there is none.
local function receive_one(e)
  local socket = e.receiver
  if not socket then return false end
  local p = packet.allocate()
  local n, problem = socket:receive(p.data, e.snaplen)
  if not n or n == 0 and e.is_stream then
    packet.free(p)
    if n or problem then e:broken(problem) end
    return false
  elseif n == 0 or not e:accepts(socket.from) then
    packet.free(p)
    return true
  end
  note.clear(p)
  p.length = math.min(n, e.snaplen)
  p.note32[EXTRA_LENGTH] = n - p.length
  if e.stamps then p.note64[TIMESTAMP] = e.router:nanoseconds() end
  if e.suits and not e:suits(p) then
    packet.free(p)
    return true
  end
  e.emit(1, p)
  return true
end

local function receive(e)
  if e.prepare then e:prepare() end
  for i = 1, BURST do
    if not receive_one(e) then
      e.receiving:unschedule()
      return i > 1
    end
  end
  return true
end

-- Sending --------------------------------------------------------------------------

-- Wait for room. False if the router is asked to end meanwhile.
local function wait_for_room(socket)
  while not socket:wait(WAIT_MS) do
    if C.pg_signal() ~= 0 then return false end
  end
  return true
end

-- Send what is left of the packet, behind its first `sent` bytes; how many then have
-- been, and whether the socket has room for more. Nil if it is broken.
local function send_some(e, p, sent)
  if e.refuses and e:refuses(p) then return nil end
  local to = e:destination(p)
  while sent < p.length do
    local socket = e.sender
    if not socket then return nil end
    local n, problem = socket:send(p.data + sent, p.length - sent, to)
    if problem then
      e:broken(problem)
      return nil
    elseif not n then
      return sent, false
    end
    sent = sent + n
  end
  return sent, true
end

--- A packet that was pushed: it is sent at once, however long that takes.
function socket_elements.process(e, p)
  if not e.sender then return nil, NOT_CONNECTED end
  local sent, room = 0, true
  repeat
    if not room and not wait_for_room(e.sender) then return nil, NOT_TAKEN end
    sent, room = send_some(e, p, sent)
    if not sent then return nil, NOT_TAKEN end
  until sent == p.length
  packet.free(p)
  return false
end

-- Send the packet that waits; false if the socket has no room for all of it.
local function send_waiting(e)
  local p = e.waiting
  local sent, room = send_some(e, p, e.sent)
  if sent and not room then
    e.sent = sent
    return false
  end
  if not sent then drops.add(e, e.drops[NOT_TAKEN], 1) end
  packet.free(p)
  e.waiting = nil
  return true
end

--- Pull packets, as many as the socket has room for.
function socket_elements.task(e)
  for i = 1, BURST do
    if not e.sender then
      e:unschedule()
      return i > 1
    end
    e.waiting, e.sent = e.waiting or e.pull_from[1](), e.waiting and e.sent or 0
    if not e.waiting then
      if not signals.any(e.upstream) then e:unschedule() end
      return i > 1
    elseif not send_waiting(e) then
      e:unschedule() -- for a millisecond at most
      return i > 1
    end
  end
  return true
end

-- Beginning and end ----------------------------------------------------------------

--- Let it receive and send from now on.
function socket_elements.begin(e)
  local pulls = e.ninputs > 0 and e.processing.inputs == "l"
  local receives = e.noutputs > 0 or e.prepare
  if receives then e.receiving = e.router:task(function () return receive(e) end) end
  if pulls then
    e.upstream = e.router:signals(e, 1)
    e:schedule()
  end
  e.router:poll(e, function ()
    if receives then e.receiving:schedule() end
    if pulls and e.waiting and e.sender then e:schedule() end
  end)
end

--- Can it go on with the sockets of the element that it replaces?
function socket_elements.inherits(e)
  local old = e.router.old and e.router.old.by_name[e.name]
  return old and old.class == e.class and old.config == e.config and old.socket ~= nil
end

--- Go on with these fields of the old element, sockets among them.
function socket_elements.take(e, old, fields)
  if e.socket then return end
  for _, field in ipairs(fields) do e[field], old[field] = old[field], nil end
  if e.sender and e.upstream then e:schedule() end
end

-- Close what is in these fields: two may have the same socket.
local function close(e, fields)
  for _, field in ipairs(fields) do
    if e[field] then e[field]:close() end
    e[field] = nil
  end
  e.receiver, e.sender = nil, nil
end

--- No more: the sockets in these fields are closed. The packet that waits is lost.
function socket_elements.finish(e, fields)
  e.router:poll(e, nil)
  close(e, fields)
  if not e.waiting then return end
  drops.add(e, e.drops[NOT_TAKEN], 1)
  packet.free(e.waiting)
  e.waiting = nil
end

return socket_elements
