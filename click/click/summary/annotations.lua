-- SPDX-License-Identifier: Apache-2.0
-- Fields of summary dumps that are annotations: times, counts, paint.

local ffi = require("ffi")

local note = require("click.note")
local packet_thread = require("click.threads.packet_thread")

local ORDER = 100

-- Times are nanoseconds, int64_t. ---------------------------------------------------

local int64 = ffi.typeof("int64_t")
local NANO = 1000000000LL

local UNITS = {[""] = 9, s = 9, ms = 6, us = 3, ns = 0}

-- The time that a text stands for: "12.5", "3ms".
local function parse_time(text)
  local whole, fraction, unit = text:match("^(%d*)%.?(%d*)(%a*)$")
  local digits = UNITS[unit]
  if not digits or #whole + #fraction == 0 then return nil end
  fraction = (fraction .. ("0"):rep(digits)):sub(1, digits)
  local time = int64(0)
  for digit in (whole .. fraction):gmatch("%d") do
    time = time * 10 + tonumber(digit)
  end
  return time
end

-- Seconds, and the rest in nanoseconds.
local function split(time)
  local rest = tonumber(time % NANO)
  if rest < 0 then rest = rest + 1e9 end
  return tonumber((time - rest) / NANO), rest
end

local function join(sec, rest) return int64(sec) * NANO + int64(rest) end

local STAMP, FIRST = note.TIMESTAMP, note.FIRST_TIMESTAMP

-- In binary dumps, the part below a second counts units of so many nanoseconds.
local function time_field(fields, name, index, unit)
  return {
    name = name, order = ORDER, zero = int64(0),
    get = function (view) return int64(view.p.note64[index]) end,
    text = note.time_text, parse = parse_time,
    put = function (builder, time) builder.p.note64[index] = time end,
    pack = function (time)
      local sec, rest = split(time)
      return fields.big_endian(sec, 4) .. fields.big_endian(math.floor(rest / unit), 4)
    end,
    unpack = function (text, at)
      if at + 7 > #text then return nil, #text + 1 end
      local units = fields.number_at(text, at + 4, 4)
      return join(fields.number_at(text, at, 4), units * unit), at + 8
    end,
  }
end

-- A number that is a part of the time: read(sec, rest), and write(number, sec, rest),
-- which returns the time with it.
local function part_field(name, bytes, read, write)
  return {
    name = name, bytes = bytes, order = ORDER,
    get = function (view) return read(split(int64(view.p.note64[STAMP]))) end,
    put = function (builder, value)
      local sec, rest = split(int64(builder.p.note64[STAMP]))
      builder.p.note64[STAMP] = write(value, sec, rest)
    end,
  }
end

local function add_times(fields)
  fields.add{
    time_field(fields, "timestamp", STAMP, 1000),
    time_field(fields, "ntimestamp", STAMP, 1),
    time_field(fields, "first_timestamp", FIRST, 1000),
    time_field(fields, "first_ntimestamp", FIRST, 1),
    part_field("ts_sec", 4, function (sec) return sec % 2 ^ 32 end,
      function (value, _, rest) return join(value, rest) end),
    part_field("ts_usec", 4, function (_, rest) return math.floor(rest / 1000) end,
      function (value, sec) return join(sec, value * 1000) end),
    part_field("ts_usec1", 8,
      function (sec, rest) return sec * 1e6 + math.floor(rest / 1000) end,
      function (value) return join(math.floor(value / 1e6), value % 1e6 * 1000) end),
  }
end

local DIRECTIONS = {[">"] = 0, ["<"] = 1}

local function parse_paint(fields, text)
  return DIRECTIONS[text] or fields.natural(text, 4)
end

local function add_paint(fields)
  local function field(name, text)
    return {
      name = name, bytes = 1, order = ORDER, text = text,
      get = function (view) return view.p.note8[note.PAINT] end,
      parse = function (word) return parse_paint(fields, word) end,
      put = function (builder, value) builder.p.note8[note.PAINT] = value % 256 end,
    }
  end
  fields.add{
    field("link"), field("paint"),
    field("direction", function (value)
      return value == 0 and ">" or value == 1 and "<" or tostring(value)
    end),
  }
end

return function (fields)
  add_times(fields)
  add_paint(fields)
  fields.add{
    {
      name = "count", bytes = 4, order = ORDER,
      get = function (view) return 1 + view.p.note16[note.EXTRA_PACKETS] end,
      put = function (builder, n)
        builder.p.note16[note.EXTRA_PACKETS] = math.min(math.max(n - 1, 0), 65535)
      end,
    }, {
      name = "aggregate", bytes = 4, order = ORDER,
      get = function (view) return view.p.note32[note.AGGREGATE] end,
      put = function (builder, value) builder.p.note32[note.AGGREGATE] = value end,
    }, {
      name = "wire_len", bytes = 4, order = ORDER,
      get = function (view) return view.p.length end,
      put = function (builder, n) builder.wanted = n end,
    }, {
      name = "thread", bytes = 4,
      get = function (view) return packet_thread.of(view.p, view.thread) end,
    },
  }
  fields.also{
    utimestamp = "timestamp", ts = "timestamp", sec = "ts_sec", usec = "ts_usec",
    usec1 = "ts_usec1", first_utimestamp = "first_timestamp",
    first_ts = "first_timestamp", pkt_count = "count", packet_count = "count",
    agg = "aggregate", wire_length = "wire_len",
  }
end
