-- SPDX-License-Identifier: Apache-2.0
-- The chunked transfer coding (RFC 9112, section 7.1), read as its bytes come: which of
-- them are the body's, and where it ends.

local chunks = {}

local Reader = {}
Reader.__index = Reader

local LONGEST_LINE, MOST_DIGITS = 4096, 12

--- A reader of a body from its beginning on.
function chunks.reader() return setmetatable({left = 0, line = ""}, Reader) end

-- A whole line of the framing: the number of bytes behind it; nil: it is none.
local function size_of(line)
  local digits = line:match("^(%x+)[ \t]*\r?\n$")
    or line:match("^(%x+)[ \t]*;.*\n$")
  return digits and #digits <= MOST_DIGITS and tonumber(digits, 16) or nil
end

-- The rest of a line that ends at `newline`, with what came of it before.
local function take_line(self, text, at, newline)
  local line = self.line .. text:sub(at, newline)
  if self.behind_data then -- the line end behind a chunk
    if line ~= "\r\n" and line ~= "\n" then return false end
    self.behind_data, self.line = false, ""
    return true
  end
  local size = size_of(line)
  if not size then return false end
  if size == 0 then
    self.last = at
  else
    self.left, self.line = size, ""
  end
  return true
end

--- Read `text`, the next bytes: a list of {at, n}, bytes that are framing, from 0; and
--- where the last chunk's line begins, if it ends in `text`: then self.line has what
--- came of it before. Nil if it isn't chunked. What is behind the last chunk's line
--- isn't looked at.
function Reader:read(text)
  local framing, at = {}, 1
  while at <= #text do
    if self.left > 0 then
      local n = math.min(self.left, #text - at + 1)
      self.left, at = self.left - n, at + n
      if self.left == 0 then self.behind_data = true end
    else
      local newline = text:find("\n", at, true)
      if (newline or #text) - at + #self.line > LONGEST_LINE then return nil end
      if not newline then
        self.line = self.line .. text:sub(at)
        framing[#framing + 1] = {at - 1, #text - at + 1}
        return framing
      end
      local before = self.line
      if not take_line(self, text, at, newline) then return nil end
      if self.last then
        self.line = before
        return framing, at - 1
      end
      framing[#framing + 1] = {at - 1, newline - at + 1}
      at = newline + 1
    end
  end
  return framing
end

--- Where the trailer section in `text` ends, which begins with the last chunk's line:
--- how many bytes both have; nil if it isn't whole.
function chunks.trailer(text)
  local _, last = text:find("\n\r?\n")
  return last
end

return chunks
