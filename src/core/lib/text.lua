-- SPDX-License-Identifier: Apache-2.0
-- Strings: splitting (which becomes a method of all strings, as Snabb's programs
-- expect) and hexadecimal.

local ffi = require("ffi")

local text = {}

--- Iterator over the pieces of `s` between matches of `pattern`. Gives each piece
--- and its separator (or the pattern's captures); the last piece has none.
function text.split(s, pattern)
  local start = 1
  local next_separator = s:gmatch("()(" .. pattern .. ")")
  local function piece(position, separator, capture, ...)
    local first = start
    if not position then
      start = nil
      return s:sub(first), nil
    end
    start = position + #separator
    return s:sub(first, position - 1), capture or separator, ...
  end
  return function()
    if start then return piece(next_separator()) end
  end, s
end

string.split = text.split -- luacheck: ignore 142

--- The bytes of `s` as upper-case hexadecimal, "45 00 B6".
function text.hexdump(s)
  local dump = s:gsub(".", function(c) return ("%02X "):format(c:byte()) end)
  return dump:sub(1, -2)
end

--- The string of `n` bytes that the hexadecimal `h` stands for; what isn't a pair of
--- digits is skipped. Fewer bytes than `n` are an error (with the message `message`
--- if given), or are filled with zeros if `message` is false.
function text.hexundump(h, n, message)
  local bytes = ffi.new("uint8_t[?]", n)
  local count = 0
  for pair in h:gmatch("%x%x") do
    if count == n then break end
    bytes[count] = tonumber(pair, 16)
    count = count + 1
  end
  if count < n and message ~= false then
    error(message or ("hexadecimal text has %d bytes, not %d"):format(count, n), 2)
  end
  return ffi.string(bytes, n)
end

return require("core.lib.arguments").guard(text, "lib", {
  hexdump = "string", hexundump = "string, count", split = "string, string",
})
