-- SPDX-License-Identifier: Apache-2.0
-- Writes a line of a summary dump for each packet, or a binary record.

local ffi = require("ffi")

local fields = require("click.summary.fields")
local note = require("click.note")
local packet_thread = require("click.threads.packet_thread")
local text_of = require("click.language.text")
local unistd = require("posix.unistd")
local View = require("click.summary.view")

local Writer = {}
Writer.__index = Writer

local int64 = ffi.typeof("int64_t")

local MARK = 2 ^ 31 -- in a record's length: it is a line of text

--- A writer of the fields of these names. Options: bad, careful, extra (as in
--- click.summary.view), binary, multipacket (a line for each packet that a packet
--- stands for). The element is told of errors.
function Writer.new(words, options, element)
  local self = {fields = {}, options = options, view = View.new(options)}
  self.view.thread = packet_thread.own(element.router)
  for _, word in ipairs(words) do
    local name = text_of.unquote(word)
    local field = fields.find(name)
    if not field or not field.get then
      element:error("unknown content type '%s'", name)
    else
      if options.binary and field.text_only then
        element:error("cannot use field %s with BINARY", name)
      end
      table.insert(self.fields, field)
      self.headers = self.headers or field.headers
      if field.name == "count" then options.multipacket = false end
    end
  end
  if #words == 0 then element:error("no contents specified") end
  return setmetatable(self, Writer)
end

local function field_names(self)
  local names = {}
  for i, field in ipairs(self.fields) do
    local exact = field.name == "ntimestamp" and not self.options.binary
    names[i] = exact and "timestamp" or field.name
  end
  return table.concat(names, " ")
end

--- The lines at the top of a dump. `about` may have banner, a text; verbose; and time,
--- when it begins.
function Writer:header(about)
  local lines = {"!IPSummaryDump 1.3"}
  local function add(format, ...) lines[#lines + 1] = format:format(...) end
  if about.banner then add("!creator %s", text_of.quote(about.banner)) end
  if about.verbose then
    add("!host %s", unistd.gethostname())
    add("!runtime %.6f (%s)", about.time, os.date("%c", about.time))
  end
  add("!data %s", field_names(self))
  if self.options.binary then add("!binary") end
  return table.concat(lines, "\n") .. "\n"
end

local function line_of(self, view)
  local words = {}
  for i, field in ipairs(self.fields) do
    local value = field.get(view)
    words[i] = value == nil and "-" or field.text(value, view)
  end
  return table.concat(words, " ") .. "\n"
end

local function record_of(self, view)
  local parts = {}
  for i, field in ipairs(self.fields) do
    local value = field.get(view)
    parts[i] = field.pack(value == nil and (field.zero or 0) or value)
  end
  local record = table.concat(parts)
  return fields.big_endian(#record + 4, 4) .. record
end

local function write_one(self, p, write)
  local view = self.view
  view:look_at(p, self.headers)
  local text = (self.options.binary and record_of or line_of)(self, view)
  if view.bad then
    local line = view.bad .. "\n"
    if self.options.binary then line = fields.big_endian(#line + MARK, 4) .. line end
    write(line)
  end
  write(text)
end

-- A line for each of the packets that `p` stands for, times and lengths spread evenly.
local function write_each(self, p, write)
  local count = 1 + p.note16[note.EXTRA_PACKETS]
  local extra = self.options.extra and p.note32[note.EXTRA_LENGTH] or 0
  local left = math.max(p.length + extra, count * p.length)
  local stamps = p.note64
  local last, first = int64(stamps[note.TIMESTAMP]), int64(stamps[note.FIRST_TIMESTAMP])
  local now, step = last, int64(0)
  if first ~= 0 and first <= last then
    step = (last - first) / (count - 1)
    now = first
  end
  p.note16[note.EXTRA_PACKETS] = 0
  for i = count, 1, -1 do
    local length = math.floor(left / i)
    left = left - length
    p.note32[note.EXTRA_LENGTH], stamps[note.TIMESTAMP] = length - p.length, now
    write_one(self, p, write)
    now = now + step
  end
  stamps[note.TIMESTAMP] = last
end

--- Hand the packet's line to write(text).
function Writer:add(p, write)
  if self.options.multipacket and p.note16[note.EXTRA_PACKETS] > 0 then
    return write_each(self, p, write)
  end
  return write_one(self, p, write)
end

return Writer
