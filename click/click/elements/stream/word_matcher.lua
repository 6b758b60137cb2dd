-- SPDX-License-Identifier: Apache-2.0
-- WordMatcher: finds words in streams, also where they begin in one packet and end in
-- another, and masks, removes or replaces them.

local ffi = require("ffi")

local arguments = require("click.arguments")
local element = require("click.element")
local parts = require("click.flow.http_parts")
local packet = require("core.packet")
local state = require("click.flow.state")
local stream = require("click.flow.stream")

local FIN, RST = stream.FIN, stream.RST
local KEPT_MOST = 16 -- packets of a flow that wait for the end of a word
local NOT_A_STREAM, CLOSED = 1, 2
local MODES = {ALERT = true, CLOSE = true, MASK = true, REPLACE = true, REMOVE = true,
  FULL = true}

ffi.cdef[[
void *memmem(const void *, size_t, const void *, size_t);
int memcmp(const void *, const void *, size_t);
]]
local memmem, memcmp = ffi.C.memmem, ffi.C.memcmp

local LONGEST = 256 -- bytes of a word
-- `open`: how many bytes at the end of the kept packets may begin a word; `tail`: those
-- that have left nevertheless.
local area_type = ffi.typeof([[struct {
  uint32_t n, closed;
  uint16_t open, behind;
  uint32_t unused;
  struct packet *packet[16];
  uint8_t tail[256];
}]])

local WordMatcher = element.define{
  name = "WordMatcher", summary = "finds words in streams, and changes them",
  processing = "h/h", flow_state = area_type, emits = true, division = "flow",
  reads = {"NETWORK_HEADER", "FLOW_ID"}, fills_cache = true,
  drops = {"no TCP or UDP", "its connection is closed"},
  usage = "WORD word, ... [, MODE mode] [, keywords]",
  keywords = {
    {"WORD", "string", list = true, each = true, keyword = true,
      meaning = "a word to look for; there may be several"},
    {"MODE", "word", default = "MASK",
      meaning = "ALERT: say so; CLOSE: drop the flow's packets from there on; MASK: "
        .. "asterisks; REPLACE: MSG, as often as it fits, in as many bytes; REMOVE; "
        .. "FULL: MSG, longer or shorter"},
    {"MSG", "string", default = "<font color='red'>Blocked content !</font><br />",
      meaning = "what replaces a word"},
    {"ALL", "bool", default = false, keyword = true,
      meaning = "each in a packet, not only the first of each word"},
    {"QUIET", "bool", default = false, keyword = true, meaning = "ALERT says nothing"},
  },
  notes = [[
Behind TCPIn (or IPIn and UDPIn) and a flow manager. A packet that ends with what may be
the beginning of a word is kept until the next one of its flow comes, a FIN, the same
again, or (UDP) the flow ends; up to 16 of a flow. Of a word whose beginning has left so
the rest is changed when it comes. The handler `found` counts words,
`failed` those that were left because there was no room in the packet, or too many
changes wait to be acknowledged, or because without TCPIn a TCP segment keeps its
length.]],
  differs = "Words are looked for from left to right, the first that begins; "
    .. "FastClick's looks for one after the other. CLOSE sends no RSTs: the flow's "
    .. "packets are dropped. Behind HTTPIn it looks at content alone, as FastClick's.",
}

function WordMatcher:configure_raw(list)
  local reader = arguments.reader(list, self)
  local a = {}
  for _, spec in ipairs(self.keywords) do a[spec[1]] = reader:read(spec) end
  if not reader:complete() then return end
  local words = a.WORD
  if not MODES[a.MODE] then
    return self:error("Mode must be MASK, REMOVE, REPLACE, ALERT, CLOSE or FULL")
  elseif type(words) ~= "table" or #words == 0 then
    return self:error("No words given")
  end
  for _, word in ipairs(words) do
    if word == "" then return self:error("WORD is empty") end
    if #word > LONGEST then
      return self:error("WORD has %d bytes, of which %d may be", #word, LONGEST)
    end
  end
  if a.ALL then self:warning("Element not optimized for ALL") end
  self.words, self.mode, self.message, self.all = words, a.MODE, a.MSG, a.ALL
  self.quiet, self.found, self.failed = a.QUIET, 0, 0
end

function WordMatcher:initialize()
  local source = stream.source(self)
  if source == false then return end
  self.source, self.look = source, stream.looker(source)
  self.in_http = #stream.nearest(self, false, "HTTPIn") > 0
  self.area_of = state.of(self)
  self.segments = {}
  for i = 1, KEPT_MOST + 1 do self.segments[i] = stream.segment() end
end

-- Keeping ----------------------------------------------------------------------------

-- Let the kept packets of an area go, all but the last `but`.
local function release(self, area, but)
  local n = area.n - (but or 0)
  for i = 0, n - 1 do self.emit(1, area.packet[i]) end
  for i = n, area.n - 1 do area.packet[i - n] = area.packet[i] end
  area.n = area.n - n
end

local function free(area)
  for i = 0, area.n - 1 do packet.free(area.packet[i]) end
  area.n = 0
end

--- A flow is over: its datagrams leave; TCP's segments have no numbers any more.
function WordMatcher:flow_ended(area)
  if self.over or self.source then return free(area) end
  release(self, area)
end

function WordMatcher:cleanup()
  self.over = true
  state.end_all(self)
end

-- Looking ----------------------------------------------------------------------------

-- The text from `data` on, `n` bytes: the first word that begins, its place, and its
-- number; nil. `used` has those that don't count any more.
local function first_word(self, data, n, used)
  local best, number
  for i, word in ipairs(self.words) do
    if not used[i] then
      local at = memmem(data, best and math.min(n, best + #word) or n, word, #word)
      if at ~= nil then
        local place = tonumber(ffi.cast("const uint8_t *", at) - data)
        if not best or place < best then best, number = place, i end
      end
    end
  end
  return best, number
end

-- How many bytes at the end may be the beginning of a word, the most.
local function open_end(self, data, n, used)
  local most = 0
  for i, word in ipairs(self.words) do
    if not used[i] then
      for k = math.min(#word - 1, n), most + 1, -1 do
        if memcmp(data + n - k, word, k) == 0 then
          most = k
          break
        end
      end
    end
  end
  return most
end

-- What takes the place of the word's bytes.
local function instead_of(self, word)
  local mode, message = self.mode, self.message
  if mode == "MASK" then return ("*"):rep(#word) end
  if mode == "REMOVE" then return "" end
  if mode == "FULL" then return message end
  if message == "" then return ("*"):rep(#word) end
  return message:rep(math.ceil(#word / #message)):sub(1, #word)
end

-- Changing ---------------------------------------------------------------------------

-- The changes of the packet's direction; nil for UDP.
local function changes_of(self, p)
  local d = self.source and self.source:direction(p)
  return d and d.changes or nil
end

-- Put `text` in the place of `n` bytes from `at` on, which the list of {packet,
-- segment} has together: as many of each packet as there were, and the rest into the
-- last. Returns the place behind them.
local function change(self, list, at, n, text)
  local gone = math.max(0, math.min(list.behind - at, n)) -- too late for these
  local done, place = gone, math.max(0, at - list.behind)
  n = n - gone
  for i, part in ipairs(list) do
    local p, s = part[1], part[2]
    if place < s.now and n > 0 then
      local here = math.min(n, s.now - place)
      local last = here == n
      local piece = text:sub(done + 1, last and -1 or done + here)
      local problem = stream.edit(changes_of(self, p), p, s, place, here, piece)
      if problem then
        self.failed = self.failed + 1
        piece = (" "):rep(here)
      end
      done, n = done + #piece, n - here
      if n == 0 then
        local behind = list.behind + place + #piece
        for k = 1, i - 1 do behind = behind + list[k][2].now end
        return behind
      end
      place = 0
    else
      place = place - s.now
    end
  end
  return at
end

local text_buffer, text_room = nil, 0

-- The list's bytes that have left and its payloads, one behind the other, and how long
-- they are.
local function join(list)
  if #list == 1 and list.behind == 0 then
    local p, s = list[1][1], list[1][2]
    return p.data + s.payload, s.now
  end
  local n = list.behind
  for _, part in ipairs(list) do n = n + part[2].now end
  if n > text_room then text_buffer, text_room = ffi.new("uint8_t[?]", 2 * n), 2 * n end
  local at = list.behind
  ffi.copy(text_buffer, list.tail, at)
  for _, part in ipairs(list) do
    ffi.copy(text_buffer + at, part[1].data + part[2].payload, part[2].now)
    at = at + part[2].now
  end
  return text_buffer, n
end

-- A word was found: true if the connection is to be closed.
local function meet(self)
  self.found = self.found + 1
  if self.mode == "ALERT" and not self.quiet then self:say("Attack found !") end
  return self.mode == "CLOSE"
end

-- Look through the packets of the list; how many bytes at the end may begin a word, or
-- nil if the connection is to be closed.
local function match(self, list)
  local used, start = {}, 0
  while true do
    local data, n = join(list)
    if start >= n then return 0 end
    local at, number = first_word(self, data + start, n - start, used)
    if not at then return open_end(self, data + start, n - start, used) end
    if meet(self) then return nil end
    local word = self.words[number]
    if self.mode == "ALERT" then
      start = start + at + #word
    else
      start = change(self, list, start + at, #word, instead_of(self, word))
    end
    if not self.all then used[number] = true end
  end
end

-- The packets that are kept, and `p` if there is one, with their segments, behind the
-- bytes that have left.
local function gather(self, area, p)
  local list = {tail = area.tail, behind = area.behind}
  for i = 0, p and area.n or area.n - 1 do
    local q, s = i < area.n and area.packet[i] or p, self.segments[i + 1]
    if self.look(q, s) then list[#list + 1] = {q, s} end
  end
  return list
end

--- The flow's packets that are kept leave as they are: some have come again, or there
--- are too many. What may begin a word is remembered: the rest of it can be changed
--- yet.
function WordMatcher:let_go(_, p)
  local area = self.area_of(p)
  if not area or area.n == 0 then return end
  local list = gather(self, area)
  local data, n = join(list)
  local open = math.min(area.open, n)
  ffi.copy(area.tail, data + n - open, open)
  area.behind, area.open = open, 0
  release(self, area)
end

-- How many of the packets at the end have the last `n` bytes.
local function packets_of(list, n)
  local count = 0
  while n > 0 and count < #list do
    n, count = n - list[#list - count][2].now, count + 1
  end
  return count
end

-- How many bytes the last `count` packets have.
local function bytes_of(list, count)
  local n = 0
  for i = #list - count + 1, #list do n = n + list[i][2].now end
  return n
end

-- Of what has left only the last `n` bytes may begin a word.
local function keep_tail(area, n)
  n = math.max(0, n)
  for i = 0, n - 1 do area.tail[i] = area.tail[area.behind - n + i] end
  area.behind = n
end

-- Nothing is kept, and no word goes on: behind a whole one, or what isn't content.
local function pass_by(self, area, p)
  area.open, area.behind = 0, 0
  release(self, area)
  return p
end

--- Can it change lengths? HTTPIn asks.
function WordMatcher:resizes() return self.mode == "REMOVE" or self.mode == "FULL" end

function WordMatcher:process(p)
  local s = self.segments[1]
  if not self.look(p, s) then return nil, NOT_A_STREAM end
  local area = self.area_of(p)
  if not area or s.now == 0 and area.n == 0 then return p end
  if area.closed ~= 0 then return nil, CLOSED end
  local part = self.in_http and p.note8[parts.NOTE] or parts.NONE
  if part == parts.HEAD or part == parts.END then return pass_by(self, area, p) end
  local ends = bit.band(s.flags, FIN + RST) ~= 0 or part == parts.LAST
  if s.length == 0 and not ends then return p end
  if area.n == KEPT_MOST then self:let_go(nil, p) end
  local list = gather(self, area, p)
  local open = match(self, list)
  if not open then
    free(area)
    area.closed = 1
    return nil, CLOSED
  end
  local kept = ends and 0 or packets_of(list, open)
  if kept == 0 then return pass_by(self, area, p) end
  area.open = open
  keep_tail(area, open - bytes_of(list, kept))
  release(self, area, kept - 1)
  area.packet[area.n] = p
  area.n = area.n + 1
  return false
end

WordMatcher.handlers = {found = element.data("found"), failed = element.data("failed")}

return {WordMatcher}
