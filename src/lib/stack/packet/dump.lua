-- SPDX-License-Identifier: Apache-2.0
-- A packet as text: a line for the whole, one for each header, then its bytes in hex
-- (slow code).

local ffi = require("ffi")
local data_of = require("lib.stack.layout.data_of")
local line = require("lib.stack.packet.line")
local text = require("lib.stack.packet.text")

local dump = {}

local BYTES_A_LINE = 16

--- The `length` bytes at `data` in hex, 16 a line, in pairs, each line indented and
--- with its offset: as tcpdump -x.
function dump.hex(data, length)
  local lines = {}
  for start = 0, length - 1, BYTES_A_LINE do
    local pairs_of_bytes = {}
    for i = start, math.min(start + BYTES_A_LINE, length) - 1, 2 do
      pairs_of_bytes[#pairs_of_bytes + 1] = i + 1 < length
        and ("%02x%02x"):format(data[i], data[i + 1]) or ("%02x"):format(data[i])
    end
    lines[#lines + 1] = ("\t0x%04x:  %s"):format(start,
      table.concat(pairs_of_bytes, " "))
  end
  return lines
end

--- The packet as text, with the first `bytes` bytes in hex (nil: all; 0: none).
function dump.text(shape, p, bytes)
  local wanted = math.max(0, math.min(tonumber(bytes) or p.length, p.length))
  local lines = {("%s %d bytes"):format(os.date("%H:%M:%S"), p.length)}
  for _, header in ipairs(text.lines(shape, p)) do lines[#lines + 1] = header end
  for _, bytes_of in ipairs(dump.hex(ffi.cast("uint8_t *", data_of(p)), wanted)) do
    lines[#lines + 1] = bytes_of
  end
  return table.concat(lines, "\n")
end

-- The text that `bytes` asks for: a number of bytes, or "line".
local function wanted_text(shape, p, bytes)
  if bytes == "line" then
    local first = shape.items[1]
    return line.text(p, first and first.protocol.name or "eth")
  elseif bytes ~= nil and not tonumber(bytes) then
    error(("dump takes a number of bytes, or \"line\", not %s"):format(
      type(bytes) == "string" and "'" .. bytes .. "'" or "a " .. type(bytes)), 4)
  end
  return dump.text(shape, p, bytes)
end

--- Write that text, or the packet on one line if `bytes` is "line", to `stream` (a
--- file, stdout if nil); returns it too.
function dump.write(shape, p, bytes, stream)
  if type(bytes) == "userdata" or type(bytes) == "table" then
    bytes, stream = nil, bytes -- libmoon's dump(stream)
  end
  if stream ~= nil and type(stream) ~= "userdata" and type(stream) ~= "table" then
    error(("dump writes to a file, or a table with write(), not a %s")
      :format(type(stream)), 3)
  end
  local said = wanted_text(shape, p, bytes)
  stream = stream or io.stdout
  stream:write(said, "\n")
  return said
end

return dump
