-- SPDX-License-Identifier: Apache-2.0
-- Packets as text in libmoon's form: the time, a line for each header, and its bytes in
-- hex; each header in a colour of its own.

local clock = require("core.lib.clock")
local colors = require("moongen.colors")
local ffi = require("ffi")

-- Compiling what runs a few times takes longer than running it.
jit.off(true, true)

local dump = {}

local color = colors.code

--- The time of day (UTC) as hh:mm:ss.uuuuuu, of `now`, seconds since 1970.
function dump.time(now)
  local day = now % 86400
  local hours, minutes = math.floor(day / 3600), math.floor(day / 60) % 60
  return ("%02d:%02d:%02.6f"):format(hours, minutes, day % 60)
end

-- Bytes a line, in pairs, with an offset before them, or as Wireshark reads them.
local function line_of(data, first, last, colored, wireshark)
  local parts = {colored and color("white") or "",
    (wireshark and "  %06x   " or "  0x%04x:   "):format(first)}
  for i = first, last do
    if colored and (colored[i] or i == first) then
      parts[#parts + 1] = color(colored.of(i))
    end
    parts[#parts + 1] = ("%02x"):format(data[i])
    if wireshark or i % 2 == 1 then parts[#parts + 1] = " " end
  end
  return table.concat(parts)
end

-- At which byte which header begins (numbers from 1), and of which a byte is.
local function colors_of(starts)
  local colored = {}
  for number, start in ipairs(starts) do colored[start] = number + 1 end
  colored.of = function (i)
    local number = 1
    for n, start in ipairs(starts) do
      if i >= start then number = n + 1 end
    end
    return number
  end
  return colored
end

--- Write `bytes` bytes at `data` in hex to `stream` (nil: standard output); in colours
--- that change at the offsets `starts` (nil: none); for Wireshark to import if
--- `wireshark`.
function dump.hex(data, bytes, stream, starts, wireshark)
  data, stream = ffi.cast("uint8_t *", data), stream or io.stdout
  local colored = starts and colors_of(starts)
  for first = 0, bytes - 1, 16 do
    local last = math.min(first + 15, bytes - 1)
    stream:write(line_of(data, first, last, colored, wireshark),
      last % 16 == 15 and "\n" or "")
  end
  stream:write(colored and color() or "", "\n\n")
end

--- Write the packet `pkt` of the shape, with `bytes` bytes in hex (nil: its headers');
--- in colours if `colored`, or (nil) if it is to a terminal.
function dump.packet(pkt, shape, bytes, stream, colored, wireshark)
  if type(bytes) == "userdata" then bytes, stream = nil, bytes end
  bytes, stream = bytes or shape.size, stream or io.stdout
  if colored == nil then colored = colors.on(stream) end
  local starts = {}
  if not wireshark then
    local time = dump.time(tonumber(clock.unix_nanoseconds()) / 1e9)
    stream:write(colored and color("white") .. time .. color() or time)
    for i, item in ipairs(shape.items) do
      stream:write(colored and color(i) or "", i == 1 and " " or "",
        pkt[item.name]:getString(), "\n")
      starts[i] = item.offset + item.size
    end
  end
  dump.hex(pkt, bytes, stream, colored and starts or nil, wireshark)
end

return dump
