-- SPDX-License-Identifier: Apache-2.0
-- Makes packets of the lines of a summary dump.
--
-- Lines with "!" at the front say what follows: !data (the fields of the lines), !proto
-- and !flowid or !flowid6 (for packets that don't say theirs), !binary. Those with "#",
-- and "!" with other words, are remarks.

local arguments = require("click.arguments")
local C = require("core.native")
local Builder = require("click.summary.builder")
local fields = require("click.summary.fields")
local names = require("click.classification.ip.names")
local packet = require("core.packet")
local text_of = require("click.language.text")

local Reader = {}
Reader.__index = Reader

local VERSION = 3 -- of the format is 1.3
local TCP = 6

--- A reader of `lines` (click.summary.lines) for an element. Options: checksums,
--- protocol (6), times (how often to read it; less than 0: for ever), ip6 (packets are
--- IPv6's), say(kind, landmark, text), which gets errors and warnings.
function Reader.new(lines, element, options)
  return setmetatable({
    lines = lines, element = element, options = options, fields = {}, order = {},
    protocol = options.protocol or TCP, version = VERSION,
    again = (options.times or 1) - 1,
  }, Reader)
end

local function say(self, kind, format, ...)
  self.options.say(kind, self.lines:landmark(), format:format(...))
end

-- The rest of the lines can't be read: the exit status tells, too.
local function broken(self, problem)
  C.pg_note_failure()
  say(self, "error", "%s", problem)
end

-- What the lines with "!" say -------------------------------------------------------

--- The fields of the lines that follow, from their names.
function Reader:set_fields(words)
  self.fields, self.order = {}, {}
  for i, word in ipairs(words) do
    word = text_of.unquote(word)
    local field = fields.find(word)
    if not field then
      say(self, "warning", "unknown content type '%s'", word)
    elseif not field.put then
      say(self, "warning", "content type '%s' ignored on input", word)
    end
    self.fields[i] = field and field.put and field or fields.none
    self.order[i] = i
  end
  if #words == 0 then say(self, "error", "no contents specified") end
  local list = self.fields
  table.sort(self.order, function (a, b)
    if list[a].order ~= list[b].order then return list[a].order < list[b].order end
    return a < b
  end)
end

local LETTERS = {T = 6, U = 17, I = 1}

local function set_protocol(self, word, kind)
  local protocol = word and (names.protocol(word) or tonumber(word) or LETTERS[word])
  if not word then
    say(self, "error", "bad %s", kind)
  elseif protocol and protocol < 256 then
    self.protocol = protocol
  else
    say(self, "error", "bad protocol in %s", kind)
  end
end

-- What a word stands for; "-": `none`.
local function optional(parse, word, none, spec, element)
  if word == "-" then return none end
  return parse(word or "", spec, element)
end

--- The flow of packets that don't say theirs: source, port, destination, port, and
--- possibly the protocol. `ip6`: it is one of IPv6's, which only its packets have.
function Reader:set_flow(words, ip6)
  if (ip6 or false) ~= (self.options.ip6 or false) then return end
  local types, port = arguments.types, {max = 65535}
  local parse, none = types.ip, 0
  if ip6 then parse, none = types.ip6, ("\0"):rep(16) end
  local flow = {
    source = optional(parse, words[1], none, {}, self.element),
    sport = optional(types.unsigned, words[2], 0, port),
    destination = optional(parse, words[3], none, {}, self.element),
    dport = optional(types.unsigned, words[4], 0, port),
  }
  self.flow = nil
  if not (flow.source and flow.sport and flow.destination and flow.dport) then
    return say(self, "error", "bad !flowid specification")
  end
  if words[5] then set_protocol(self, words[5], "!flowid") end
  self.flow = flow
end

local bangs = {}

bangs["!data"] = function (self, words) self:set_fields(words) end
bangs["!contents"] = bangs["!data"]
bangs["!flowid"] = function (self, words) self:set_flow(words) end
bangs["!flowid6"] = function (self, words) self:set_flow(words, true) end

bangs["!proto"] = function (self, words)
  set_protocol(self, not words[2] and words[1] or nil, "!proto")
end

bangs["!binary"] = function (self, words)
  if words[1] then say(self, "error", "bad !binary specification") end
  self.lines:begin_binary()
end

bangs["!aggregate"] = function (self, words)
  local value = not words[2] and arguments.types.unsigned(words[1] or "", {})
  if not value then say(self, "error", "bad !aggregate specification") end
end

local function header_line(self, line)
  local words = text_of.words(line)
  local bang = bangs[table.remove(words, 1)]
  if bang then bang(self, words) end
end

local BEGINNINGS = {"!creator", "!data", "!contents", "!proto", "!flowid", "!flowid6"}

--- Read the first line: is it a dump?
function Reader:begin()
  local line = self.lines:peek() or ""
  if self.lines.problem then return end -- next() tells
  local major, minor = line:match("^!IPSummaryDump%s+(%d+)%.(%d+)")
  if major then
    if tonumber(major) ~= 1 or tonumber(minor) > VERSION then
      say(self, "warning", "unexpected IPSummaryDump version %s.%s", major, minor)
    else
      self.version = tonumber(minor)
    end
  end
  if line:find("^!IPSummaryDump") then return self.lines:next() and nil end
  for _, beginning in ipairs(BEGINNINGS) do
    if line:sub(1, #beginning) == beginning then return end
  end
  if #self.fields == 0 then
    say(self, "warning", "missing banner line; is this an IP summary dump?")
  end
end

-- Packets ---------------------------------------------------------------------------

-- The words of a line. Quoted ones may have spaces.
local function words_of(line, n)
  local words, at = {}, 1
  for i = 1, n do
    local start = at
    while at <= #line and not line:find("^%s", at) do
      local behind = line:match('^"[^"\\]*()', at)
      while behind and line:sub(behind, behind) == "\\" do
        behind = line:match('^..[^"\\]*()', behind) or #line + 1
      end
      at = behind and behind + 1 or at + 1
    end
    words[i] = line:sub(start, at - 1)
    at = line:match("^%s*()", at) or at
  end
  return words
end

-- Values by field, of a line.
local function values_of_line(self, line)
  local words = words_of(line, #self.fields)
  return function (builder, i)
    local word, field = words[i], self.fields[i]
    if word == "" or word == "-" or not field.put then return nil end
    return field.parse(word, builder)
  end
end

-- And of a record.
local function values_of_record(self, record)
  local values, at = {}, 1
  for i, field in ipairs(self.fields) do
    if field.unpack then
      values[i], at = field.unpack(record, at)
    else
      at = #record + 1
    end
  end
  return function (_, i) return self.fields[i].put and values[i] end
end

local function complain_once(self, line)
  if self.complained or line:find("^%s*$") then return end
  self.complained = true
  local nothing = #self.fields == 0
  say(self, "error", nothing and "no '!data' provided" or "packet parse error")
end

-- The packet of a line or record, or nil.
local function build(self, line, is_record)
  local builder = Builder.new(self.protocol, self.flow, self.version, self.options.ip6)
  builder.element = self.element
  local value_of = (is_record and values_of_record or values_of_line)(self, line)
  local count = 0
  for _, i in ipairs(self.order) do
    local value = builder.p and value_of(builder, i)
    if value ~= nil and value ~= false and builder.p then
      self.fields[i].put(builder, value)
      count = count + 1
    end
  end
  if count == 0 then
    complain_once(self, line)
    packet.free(builder.p)
    return nil
  end
  local p = builder:finish(self.options.checksums)
  if not p then
    say(self, "error", "packet is longer than %d bytes", packet.max_payload)
  end
  return p
end

local function ended(self)
  if self.again == 0 or not self.first then return true end
  if self.again > 0 then self.again = self.again - 1 end
  self.lines:back_to(self.first)
  return false
end

--- The next packet. Nil if the line isn't one; the second result is true at the end.
function Reader:next()
  while true do
    local before = self.again ~= 0 and not self.first and self.lines:mark()
    local line, is_record = self.lines:next()
    if not line then
      if is_record then
        broken(self, is_record)
        return nil, true
      end
      if ended(self) then return nil, true end
    elseif is_record or line ~= "" and not line:find("^[!#]") then
      self.first = self.first or before
      return build(self, line, is_record), false
    elseif line:sub(1, 1) == "!" then
      header_line(self, line)
    end
  end
end

return Reader
