-- SPDX-License-Identifier: Apache-2.0
-- HTTPIn: finds the messages of HTTP/1 in streams, and says which packets have their
-- content.

local bit = require("bit")
local ffi = require("ffi")

local chunks = require("net.http.chunks")
local element = require("click.element")
local head = require("net.http.head")
local http_heads = require("click.flow.http_heads")
local packet = require("core.packet")
local parts = require("click.flow.http_parts")
local state = require("click.flow.state")
local stream = require("click.flow.stream")

local FIN, SYN, RST = stream.FIN, stream.SYN, stream.RST
local PART = parts.NOTE
local NONE, HEAD, CONTENT, LAST, END =
  parts.NONE, parts.HEAD, parts.CONTENT, parts.LAST, parts.END
local HELD_MOST = 8 -- packets with an unfinished head
local HEAD_MOST = 65536 -- bytes of a head, or of a trailer section
local NOT_TCP, NOT_HTTP = 1, 2

local HTTPIn = element.define{
  name = "HTTPIn", summary = "begins a path of HTTP: finds messages and their content",
  processing = "a/ah", emits = true, division = "flow", fills_cache = true,
  flow_state = ffi.typeof("struct { uint32_t number, unused; }"),
  reads = {"NETWORK_HEADER", "FLOW_ID"},
  drops = {"not TCP", "not HTTP"},
  arguments = {
    {"HTTP10", "bool", default = false, keyword = true},
    {"NOENC", "bool", default = false, keyword = true},
    {"BUFFER", "int", default = 65536, keyword = true},
    {"RESIZE_METHOD", "word", default = "unset", keyword = true},
    {"VERBOSE", "bool", default = false, keyword = true},
  },
  notes = [[
Behind TCPIn, and before an HTTPOut; one in each direction, so that a response is
known to answer a HEAD or CONNECT. Messages are found as RFC 9112 says: Content-
Length, chunked, up to the connection's end, without a body (HEAD, 1xx, 204, 304),
one behind the other. A packet is split so that its parts have the head of a
message, or its content: WordMatcher between looks at content alone, without the
framing of chunks. Where it can change lengths (MODE REMOVE or FULL), messages get
another length: if a body ends in the packet that its head ends in, the right
Content-Length; else chunks, in HTTP/1.1; else, in a response behind which the
server closes, no Content-Length; else, and with BUFFER 0, it keeps its length,
filled with spaces or cut off at the end (RESIZE_METHOD fill_end; fill: each
segment filled up). NOENC removes Accept-Encoding, so that bodies aren't
compressed. HTTP10 turns messages into HTTP/1.0, and removes `Connection: keep-
alive`. Up to 8 packets with the beginning of a head are kept until the rest
comes, or until they come again; what has left of a head can't be changed any
more. What isn't HTTP/1 is dropped, and so is the rest of its direction (handler
`refused`); what follows a CONNECT or an Upgrade passes as it is. No element
between may keep packets but WordMatcher.]],
  differs = "FastClick's keeps bodies, and acknowledges them itself; here nothing "
    .. "is acknowledged that the receiver hasn't, so bodies in one packet alone get a "
    .. "Content-Length, and BUFFER's size changes nothing. FastClick's doesn't know "
    .. "chunks, heads in several packets, or a second request in a packet. ETag, "
    .. "Digest "
    .. "and Content-Range aren't changed.",
}

function HTTPIn:configure(a)
  local method = a.RESIZE_METHOD
  if a.BUFFER > 0 and method ~= "unset" then
    return self:error("When buffering, we do not need a resize method: "
      .. "RESIZE_METHOD takes BUFFER 0")
  elseif a.HTTP10 and method ~= "unset" then
    return self:error("Filling method cannot be set with HTTP10")
  elseif method ~= "unset" and method ~= "fill" and method ~= "fill_end" then
    return self:error("Unknown RESIZE_METHOD '%s': it is fill_end or fill", method)
  end
  self.http10, self.no_encoding, self.buffers = a.HTTP10, a.NOENC, a.BUFFER > 0
  self.fills, self.verbose = method == "fill", a.VERBOSE
  self.flows, self.messages, self.refused, self.left = {}, 0, 0, 0
  self.segment = stream.segment()
end

-- Can an element between change lengths?
local function can_resize(self)
  local resizes = false
  self.router:nearest(self, true, function (other)
    if other.class.resizes and other:resizes() then resizes = true end
    return other.class.name == "HTTPOut"
  end)
  return resizes
end

function HTTPIn:initialize()
  local source = stream.source(self)
  if source == nil then self:error("Could not find TCPIn element !") end
  local outs = stream.nearest(self, true, "HTTPOut")
  if #outs ~= 1 then
    self:error("Found no or more than 1 HTTPOut element behind it")
  end
  self.source, self.area_of = source, state.of(self)
  self.resizes_content = can_resize(self)
end

-- Connections ------------------------------------------------------------------------

local function new_flow(number)
  return {number = number, state = "head", head = "", list = {behind = 0}, asked = {},
    first = 1, last = 0, message = {mode = "pass", held = {}}}
end

--- What is known of the packet's direction, and its direction; nil: it has none.
function HTTPIn:connection(p)
  local d, number = self.source:direction(p)
  if d == nil then return nil end
  local f = self.flows[number]
  if not f then
    local area = self.area_of(p)
    if not area then return nil end
    area.number = number
    f = new_flow(number)
    self.flows[number] = f
  end
  return f, d
end

function HTTPIn:flow_ended(area)
  local f = self.flows[area.number]
  if area.number == 0 or not f then return end
  self.flows[area.number] = nil
  parts.free(f.list)
  parts.free(f.message.held)
end

-- The HTTPIn of the other direction, or false.
local function back_of(self)
  local back = rawget(self, "back")
  if back == nil then
    back = false
    for _, e in ipairs(self.router.elements) do
      if e.class == self.class and e.source == self.source.back then back = e end
    end
    self.back = back
  end
  return back
end

--- What is known of the other direction; nil.
function HTTPIn:other_flow(d)
  local back = back_of(self)
  return back and d.peer ~= 0 and back.flows[d.peer] or nil
end

--- Can elements on the way back change lengths?
function HTTPIn:answers_resize()
  local back = back_of(self)
  return back and back.resizes_content
end

-- Parts ------------------------------------------------------------------------------

local function give(self, p, part)
  p.note8[PART] = part
  self.emit(1, p)
end

local function give_all(self, list)
  for i = 1, #list do
    local p = list[i]
    list[i] = nil
    give(self, p, HEAD)
  end
end

--- Packets that are kept with the beginning of a head leave as they are: some have come
--- again, or there are too many.
function HTTPIn:let_go(number)
  local f = self.flows[number]
  if not f or #f.list == 0 then return end
  for _, p in ipairs(f.list) do
    if stream.look(p, self.segment) then
      f.list.behind = f.list.behind + self.segment.now
    end
  end
  give_all(self, f.list)
end

-- It isn't HTTP: from here on all is dropped.
local function refuse(self, f)
  f.state = "refused"
  self.refused = self.refused + 1
  if self.verbose then self:remark("not HTTP") end
  parts.free(f.list)
  return "drop"
end

local function text_of(p, s) return ffi.string(p.data + s.payload, s.now) end

-- The first `n` bytes of `p`: a packet of their own if it has more.
local function take(p, s, n)
  if n < s.now then return parts.split(p, s, n), p end
  return p, nil
end

-- Each of these takes what `p` begins with, and returns the rest, nil, or "drop".
local steps = {}

function steps.head(self, f, d, p, s)
  local text = text_of(p, s)
  local before = #f.head
  f.head = f.head .. text
  local n, empty = head.find(f.head)
  if (n or #f.head) > HEAD_MOST then return refuse(self, f) end
  if not n then
    f.list[#f.list + 1] = p
    if #f.list > HELD_MOST then self:let_go(f.number) end
    return nil
  end
  local h = http_heads.take(self, f, d, f.head:sub(empty + 1, n))
  if not h then return refuse(self, f) end
  local q, rest = take(p, s, n - before)
  f.list[#f.list + 1] = q
  http_heads.change(self, f, d, h, empty, rest and s.now or 0)
  f.head = ""
  self.messages = self.messages + 1
  give_all(self, f.list)
  f.list.behind = 0
  return rest
end

function steps.length(self, f, _, p, s)
  local n = math.min(f.left, s.now)
  local q, rest = take(p, s, n)
  f.left = f.left - n
  if f.left == 0 then f.state = "head" end
  give(self, q, f.left == 0 and LAST or CONTENT)
  return rest
end

function steps.close(self, _, _, p)
  give(self, p, CONTENT)
  return nil
end

function steps.tunnel(self, _, _, p)
  give(self, p, HEAD)
  return nil
end

function steps.refused() return "drop" end

-- Remove the framing of chunks, from the back to the front.
local function remove(d, p, s, framing)
  for i = #framing, 1, -1 do
    if stream.edit(d.changes, p, s, framing[i][1], framing[i][2], "") then
      return false
    end
  end
  return true
end

function steps.chunked(self, f, d, p, s)
  local framing, last = f.reader:read(text_of(p, s))
  if not framing then return refuse(self, f) end
  local q, rest = p, nil
  if last then
    f.state, f.head, f.message.line = "last", f.reader.line, f.reader.line
    if last == 0 then return p end
    q, rest = take(p, s, last)
  end
  if not stream.look(q, s) or not remove(d, q, s, framing) then
    if rest then packet.free(q) end
    return refuse(self, f)
  end
  give(self, q, CONTENT)
  return rest
end

-- The last chunk and the trailer section.
function steps.last(self, f, _, p, s)
  local before = #f.head
  f.head = f.head .. text_of(p, s)
  local n = chunks.trailer(f.head)
  if (n or #f.head) > HEAD_MOST then return refuse(self, f) end
  local q, rest = take(p, s, n and n - before or s.now)
  local part = f.ending and HEAD or END
  f.ending = n == nil
  if n then f.state, f.head = "head", "" end
  give(self, q, part)
  return rest
end

function HTTPIn:process(p)
  local s = self.segment
  if not stream.look(p, s) then return nil, NOT_TCP end
  p.note8[PART] = NONE
  if s.length == 0 or bit.band(s.flags, SYN + RST) ~= 0 then
    if bit.band(s.flags, FIN) ~= 0 then
      local _, number = self.source:direction(p)
      self:let_go(number)
    end
    return p
  end
  local f, d = self:connection(p)
  if not f then return p end
  local rest = p
  while rest do
    if not stream.look(rest, s) then return nil, NOT_TCP end
    rest = steps[f.state](self, f, d, rest, s)
    if rest == "drop" then return nil, NOT_HTTP end
  end
  return false
end

HTTPIn.handlers = {
  messages = element.data("messages"), refused = element.data("refused"),
}

return {HTTPIn}
