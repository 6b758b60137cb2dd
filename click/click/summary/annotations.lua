-- SPDX-License-Identifier: Apache-2.0
-- Fields of summary dumps that are annotations: times, counts, paint.

local ffi = require("ffi")

local note = require("click.note")

local ORDER = 100
local NANO = 1e9

-- Times are text: seconds and nanoseconds, four bytes each. ---------------------------

local function parts(time)
  local a, b, c, d, e, f, g, h = time:byte(1, 8)
  return ((a * 256 + b) * 256 + c) * 256 + d, ((e * 256 + f) * 256 + g) * 256 + h
end

local function time_text(time)
  local sec, nsec = parts(time)
  if nsec % 1000 == 0 then return ("%.0f.%06d"):format(sec, nsec / 1000) end
  return ("%.0f.%09d"):format(sec, nsec)
end

local UNITS = {s = 0, ms = -3, us = -6, ns = -9, [""] = 0}

-- Seconds and nanoseconds that a text stands for: "12.5", "3ms".
local function parse_time(text)
  local whole, fraction, unit = text:match("^(%d*)%.?(%d*)(%a*)$")
  if not whole or #whole + #fraction == 0 or not UNITS[unit] then return nil end
  local shift = 9 + UNITS[unit]
  fraction = fraction .. ("0"):rep(shift)
  local digits = whole .. fraction:sub(1, shift)
  local seconds = digits:sub(1, -10)
  return tonumber(seconds == "" and "0" or seconds) % 2 ^ 32, tonumber(digits:sub(-9))
end

local function split(nanoseconds)
  local seconds = nanoseconds / 1000000000ULL
  return tonumber(seconds), tonumber(nanoseconds - seconds * 1000000000ULL)
end

local function get_time(view) return split(view.p.note64[note.TIMESTAMP]) end

local function set_time(builder, sec, nsec)
  builder.p.note64[note.TIMESTAMP] = ffi.cast("uint64_t", sec) * 1000000000ULL
    + ffi.cast("uint64_t", nsec)
end

local FIRST = note.FIRST_TIMESTAMP

local function time_field(fields, name, get, put, unit)
  local function packed(sec, nsec)
    return fields.big_endian(sec, 4) .. fields.big_endian(nsec, 4)
  end
  return {
    name = name, order = ORDER,
    get = function (view) return packed(get(view)) end,
    text = time_text,
    parse = function (text)
      local sec, nsec = parse_time(text)
      return sec and packed(sec, nsec)
    end,
    put = function (builder, time) put(builder, parts(time)) end,
    pack = function (time)
      local sec, nsec = parts(time)
      return packed(sec, nsec / unit)
    end,
    unpack = function (text, at)
      if at + 7 > #text then return nil, #text + 1 end
      local sec, nsec = parts(text:sub(at, at + 7))
      return packed(sec, nsec * unit), at + 8
    end,
    zero = ("\0"):rep(8),
  }
end

local function add_times(fields)
  local function get_first(view) return split(view.p.note64[FIRST]) end
  local function set_first(builder, sec, nsec)
    builder.p.note64[FIRST] = ffi.cast("uint64_t", sec * NANO)
      + ffi.cast("uint64_t", nsec)
  end
  fields.add{
    time_field(fields, "timestamp", get_time, set_time, 1000),
    time_field(fields, "ntimestamp", get_time, set_time, 1),
    time_field(fields, "first_timestamp", get_first, set_first, 1000),
    time_field(fields, "first_ntimestamp", get_first, set_first, 1),
    {
      name = "ts_sec", bytes = 4, order = ORDER,
      get = function (view) return (get_time(view)) end,
      put = function (builder, sec)
        local _, nsec = split(builder.p.note64[note.TIMESTAMP])
        set_time(builder, sec, nsec)
      end,
    }, {
      name = "ts_usec", bytes = 4, order = ORDER,
      get = function (view)
        local _, nsec = get_time(view)
        return math.floor(nsec / 1000)
      end,
      put = function (builder, usec)
        local sec = split(builder.p.note64[note.TIMESTAMP])
        set_time(builder, sec, usec * 1000)
      end,
    }, {
      name = "ts_usec1", bytes = 8, order = ORDER,
      get = function (view)
        local sec, nsec = get_time(view)
        return sec * 1e6 + math.floor(nsec / 1000)
      end,
      put = function (builder, usec)
        set_time(builder, math.floor(usec / 1e6), usec % 1e6 * 1000)
      end,
    },
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
      get = function () return 0 end,
    },
  }
  fields.also{
    utimestamp = "timestamp", ts = "timestamp", sec = "ts_sec", usec = "ts_usec",
    usec1 = "ts_usec1", first_utimestamp = "first_timestamp",
    first_ts = "first_timestamp", pkt_count = "count", packet_count = "count",
    agg = "aggregate", wire_length = "wire_len",
  }
end
