-- SPDX-License-Identifier: Apache-2.0
-- HTTPOut: gives messages of HTTP/1 the length that their content has now.

local element = require("click.element")
local parts = require("click.flow.http_parts")
local stream = require("click.flow.stream")

local PART = parts.NOTE
local NONE, HEAD, CONTENT, LAST, END =
  parts.NONE, parts.HEAD, parts.CONTENT, parts.LAST, parts.END
local FAILED, ROOM = 1, 4096 -- bytes that a segment is filled up with, at most

local HTTPOut = element.define{
  name = "HTTPOut", summary = "ends a path of HTTP: lengths of changed bodies",
  processing = "h/h", emits = true, division = "flow", fills_cache = true,
  reads = {"NETWORK_HEADER", "FLOW_ID"},
  drops = {"too many changes"},
  notes = [[
Behind the HTTPIn that says how messages get another length: a Content-Length,
chunks of what each packet has, none, or spaces. The bodies that are chunked
already get new chunks. A message of which a packet can't be changed any more, as
too much that was changed waits to be acknowledged, ends there (handler `failed`):
the rest of the direction is dropped.]],
  differs = "See HTTPIn. It takes no arguments, as FastClick's.",
}

function HTTPOut:configure()
  self.segment, self.failed, self.cut = stream.segment(), 0, 0
end

function HTTPOut:initialize()
  local list = stream.nearest(self, false, "HTTPIn")
  if #list ~= 1 then
    return self:error("Found no or more than 1 HTTPIn element in front of it")
  end
  self.http_in = list[1]
end

local function byte(p, s, at) return string.char(p.data[s.payload + at]) end

-- Put `text` in front of the payload.
local function put_before(d, p, s, text)
  if text == "" then return true end
  return not stream.edit(d.changes, p, s, 0, 1, text .. byte(p, s, 0))
end

-- Put `text` behind it.
local function put_behind(d, p, s, text)
  if s.now == 0 then return not stream.edit(d.changes, p, s, 0, 0, text) end
  return not stream.edit(d.changes, p, s, s.now - 1, 1, byte(p, s, s.now - 1) .. text)
end

-- What of the framing comes first: the end of the chunk before.
local function line_end(m) return m.chunks and "\r\n" or "" end

-- Each of these changes the packet; false: it couldn't.
local modes = {}

function modes.chunked(_, m, d, p, s, part)
  local fine = true
  if part == END then
    fine = put_before(d, p, s, line_end(m) .. m.line)
    m.mode = "pass"
  elseif part == CONTENT or part == LAST then
    if s.now > 0 then
      fine = put_before(d, p, s, ("%s%x\r\n"):format(line_end(m), s.now))
      m.chunks = true
    end
    if part == LAST then
      fine = fine and put_behind(d, p, s, line_end(m) .. "0\r\n\r\n")
      m.mode = "pass"
    end
  end
  return fine
end

function modes.fill(self, m, d, p, s, part)
  if part == HEAD then return true end
  m.came = (m.came or 0) + s.length
  if s.now > m.length - m.sent then
    local most = m.length - m.sent
    if stream.edit(d.changes, p, s, most, s.now - most, "") then return false end
    self.cut = self.cut + 1
  end
  m.sent = m.sent + s.now
  local missing = m.came - m.sent
  if part ~= LAST and not self.http_in.fills and missing <= ROOM then return true end
  if part == LAST then m.mode = "pass" end
  if missing <= 0 then return true end
  m.sent = m.sent + missing
  return put_behind(d, p, s, (" "):rep(missing))
end

-- All packets that are held leave, with the right length.
local function finish(self, m, d)
  local field = ("Content-Length: %d\r\n"):format(m.sent)
  if not parts.edit(d.changes, m.held, m.at, m.n, field) then return false end
  for i = 1, #m.held do
    local p = m.held[i]
    m.held[i] = nil
    self.emit(1, p)
  end
  return true
end

--- What is held leaves as it is.
function HTTPOut:let_go(number)
  local f = self.http_in.flows[number]
  if not f then return end
  local held = f.message.held
  if #held > 0 then f.message.mode = "pass" end
  for i = 1, #held do
    local p = held[i]
    held[i] = nil
    self.emit(1, p)
  end
end

-- The rest of the direction is dropped.
local function give_up(self, f)
  self.failed = self.failed + 1
  f.state = "refused"
  parts.free(f.message.held)
  return nil, FAILED
end

function HTTPOut:process(p)
  local part = p.note8[PART]
  if part == NONE then return p end
  local f, d = self.http_in:connection(p)
  local m, s = f and f.message, self.segment
  if not f or m.mode == "pass" or m.mode == "close" or not stream.look(p, s) then
    return p
  end
  if m.mode ~= "length" then
    if modes[m.mode](self, m, d, p, s, part) then return p end
    return give_up(self, f)
  end
  if part ~= HEAD then m.sent = m.sent + s.now end
  if part ~= LAST then
    m.held[#m.held + 1] = p
    return false
  end
  if not finish(self, m, d) then return give_up(self, f) end
  m.mode = "pass"
  return p
end

HTTPOut.handlers = {failed = element.data("failed"), cut = element.data("cut")}

return {HTTPOut}
