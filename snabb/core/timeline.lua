-- SPDX-License-Identifier: Apache-2.0
-- Events with their times, in a ring in shared memory that other processes read:
-- the engine's and apps' own log, as cheap as a C call. Off, and then free, unless
-- the environment has SNABB_TIMELINE_ENABLE.
--
-- Events are described by text: "LEVEL,RATE|NAME: ARGUMENT ..." and lines that
-- explain it. Those whose RATE (0 to 9) is below the timeline's aren't logged.

local ffi = require("ffi")
local C = require("core.declare")("native/snabb.h")
local lib = require("core.lib")

local timeline = {}

local MAGIC = 0xa3ff7223441d0001ULL
local MAJOR, MINOR = 3, 0
local STRING_ALIGNMENT = 16
local NO_ROOM = 0xffff -- the id of strings that had no room
local MOST_ARGUMENTS = 6

--- Whether timelines made from now on log anything.
timeline.enabled = os.getenv("SNABB_TIMELINE_ENABLE") ~= nil

--- A timeline in the shared memory object `path`, for the last `entries` events
--- (default 1e6) and `strings` bytes of text (default 1e6); false where timelines
--- are off.
function timeline.new(path, entries, strings)
  if not timeline.enabled then return false end
  entries, strings = entries or 1e6, strings or 1e6
  local header_size = ffi.sizeof("struct timeline_header")
  local log_size = entries * ffi.sizeof("struct timeline_entry")
  local base = require("core.shm").create(path,
    ("char[%d]"):format(header_size + log_size + strings))
  base = ffi.cast("char *", base)
  local header = ffi.cast("struct timeline_header *", base)
  header.magic = MAGIC
  header.major_version, header.minor_version = MAJOR, MINOR
  header.log_bytes, header.strings_bytes = log_size, strings
  return ffi.new("struct timeline_state", {
    entries = ffi.cast("struct timeline_entry *", base + header_size),
    num_entries = entries,
    stringtable = base + header_size + log_size, stringtable_size = strings,
  })
end

--- Get, or with `rate` set, the lowest rate that the timeline logs.
function timeline.rate(tl, rate)
  if not timeline.enabled then return 1 / 0 end
  if rate then tl.rate = rate end
  return tl.rate
end

-- Texts -------------------------------------------------------------------

local known = setmetatable({}, {__mode = "k"}) -- a timeline's strings and their ids

--- The id of the text in the timeline; NO_ROOM, 0xffff, when its strings are full.
function timeline.intern(tl, text)
  known[tl] = known[tl] or {}
  if known[tl][text] then return known[tl][text] end
  local at, size = tl.next_string, #text + 1
  if at + size > tl.stringtable_size or at / STRING_ALIGNMENT >= NO_ROOM then
    return NO_ROOM
  end
  ffi.copy(tl.stringtable + at, text)
  tl.next_string = lib.align(at + size, STRING_ALIGNMENT)
  known[tl][text] = at / STRING_ALIGNMENT
  return known[tl][text]
end

local function nothing() end

-- A function of its own for each number of arguments: the JIT inlines it.
local function logger(tl, rate, id, n)
  local log = C.pg_timeline_log
  if n == 0 then return function () log(tl, rate, id, 0, 0, 0, 0, 0, 0) end end
  if n == 1 then return function (a) log(tl, rate, id, a, 0, 0, 0, 0, 0) end end
  if n == 2 then return function (a, b) log(tl, rate, id, a, b, 0, 0, 0, 0) end end
  if n == 3 then
    return function (a, b, c) log(tl, rate, id, a, b, c, 0, 0, 0) end
  end
  if n == 4 then
    return function (a, b, c, d) log(tl, rate, id, a, b, c, d, 0, 0) end
  end
  if n == 5 then
    return function (a, b, c, d, e) log(tl, rate, id, a, b, c, d, e, 0) end
  end
  return function (a, b, c, d, e, f) log(tl, rate, id, a, b, c, d, e, f) end
end

--- The function that logs the event that `text` describes, with its arguments
--- (numbers, up to 6). Raises an error if the text doesn't describe one.
function timeline.mkevent(tl, category, text, attributes)
  local level, rate, name, rest = text:match("^(%d),(%d)|([^:]+):(.*)$")
  if not level then
    error(("'%s' doesn't describe an event: it would begin with LEVEL,RATE|NAME:")
      :format(text), 2)
  end
  local marks = {}
  for key, value in pairs(attributes or {}) do
    marks[#marks + 1] = (" %s=%s"):format(key, value)
  end
  local _, n = rest:match("^[^\n]*"):gsub("%S+", "")
  if n > MOST_ARGUMENTS then
    error(("event '%s' has %d arguments; it may have up to %d")
      :format(name, n, MOST_ARGUMENTS), 2)
  end
  if not timeline.enabled then return nothing end
  local id = timeline.intern(tl, ("%s,%s|%s.%s%s:%s")
    :format(level, rate, category, name, table.concat(marks), rest))
  return logger(tl, tonumber(rate), id, n)
end

--- Functions, by event name, that log the events which `text` describes, one after
--- the other, each beginning on a line of its own.
function timeline.load_events_from_string(tl, text, category, attributes)
  local events = {}
  for event in ("\n" .. text):gsub("\n(%d,%d|)", "\n\a%1"):gmatch("\a([^\a]+)") do
    event = event:gsub("%s+$", "")
    events[event:match("|([%w_]+)")] =
      timeline.mkevent(tl, category, event, attributes)
  end
  return events
end

--- The same for the events of the module `name`, whose text the module `name`_events
--- returns; `attributes` (key = value) are added to each event's text.
function timeline.load_events(tl, name, attributes)
  return timeline.load_events_from_string(tl, require(name .. "_events"),
    name:match("[^.]+$"), attributes)
end

--- Log an event: timeline, rate, id of its text, six numbers.
timeline.event = C.pg_timeline_log

return timeline
