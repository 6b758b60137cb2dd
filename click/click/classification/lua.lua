-- SPDX-License-Identifier: Apache-2.0
-- A decision program as a Lua function with its numbers as constants, for LuaJIT to
-- compile into the packet path. Whether the packet has all bytes that the program may
-- ask for is checked once, first; if not, the C interpreter runs.

local bit = require("bit")
local ffi = require("ffi")

local kernel = require("click.classification.kernel")
local step = require("click.classification.step")

local lua = {}

local BINARY = 5 -- values from which on they are searched for by halves

local BASES = {[0] = "ethernet", "ip", "transport"}
local BEFORE_ETHERNET = 2

local function word(number) return ("%d"):format(bit.tobit(bit.bswap(number))) end

-- Statements that go where a jump leads.
local function go(jump)
  if jump == step.NEVER then return "do return nil, 1 end" end
  if jump <= 0 then return ("do return p, %d end"):format(1 - jump) end
  return "goto q" .. jump
end

local function equal(list, first, last, yes, add)
  for i = first, last do add("if w == %s then %s end", list[i], yes) end
end

-- Is w among list[first] to list[last]? They ascend.
local function search(list, first, last, yes, add)
  if last - first + 1 < BINARY then return equal(list, first, last, yes, add) end
  local middle = math.floor((first + last) / 2)
  add("if w <= %s then", list[middle])
  search(list, first, middle, yes, add)
  add("else")
  search(list, middle + 1, last, yes, add)
  add("end")
end

-- Where the bytes are, by the pointer that others have, as LuaJIT then sees.
local function address(q, by_header)
  local header, offset = kernel.place(q.offset, by_header)
  if not by_header then return ("p.data + %d"):format(offset) end
  if header == 0 then offset = offset - BEFORE_ETHERNET end
  return ("p.buf_addr + %s + %d"):format(BASES[header], offset)
end

local function question(q, i, by_header, add)
  add("::q%d::", i)
  add("do local w = cast(int32, %s)[0]", address(q, by_header))
  if q.mask ~= 2 ^ 32 - 1 then add("w = band(w, %s)", word(q.mask)) end
  local list = {}
  for k, value in ipairs(q.values) do
    list[k] = bit.tobit(bit.bswap(value))
  end
  table.sort(list)
  search(list, 1, #list, go(q[1]), add)
  add("end")
  add(go(q[0]))
end

-- The bytes that each header must have for words to be loaded whole.
local function needs(questions, by_header)
  local need = {}
  for i = 0, questions.n - 1 do
    local header, offset = kernel.place(questions[i].offset, by_header)
    need[header] = math.max(need[header] or 0, offset + 4)
  end
  return need
end

local function check_headers(need, add)
  add("local last = p.data_off + p.length")
  local wrong = {}
  for header = 0, 2 do
    if need[header] then
      local name = BASES[header]
      add("local %s = p.note16[%d]", name, header)
      local least = header == 0 and BEFORE_ETHERNET or 1
      wrong[#wrong + 1] = ("%s < %d or last - %s < %d"):format(name, least, name,
        need[header] - (header == 0 and BEFORE_ETHERNET or 0))
    end
  end
  if need[2] and not need[1] then wrong[#wrong + 1] = "p.note16[1] == 0" end
  return table.concat(wrong, " or ")
end

--- The text of the function's chunk, which gets cast, the type int32_t *, band and a
--- process() for packets that are too short.
function lua.source(questions, by_header)
  local lines = {"local cast, int32, band, too_short = ...",
                 "return function (self, p)"}
  local function add(format, ...) lines[#lines + 1] = format:format(...) end
  local need = needs(questions, by_header)
  local wrong = by_header and check_headers(need, add)
    or ("p.length < %d"):format(need[0])
  add("if %s then local q, o = too_short(self, p) return q, o end", wrong)
  for i = 0, questions.n - 1 do question(questions[i], i, by_header, add) end
  lines[#lines + 1] = "end"
  return table.concat(lines, "\n")
end

--- process(self, p) of the program whose questions these are. `too_short` is a
--- process() for packets that don't have all bytes that are asked for.
function lua.process(questions, by_header, too_short)
  local chunk = assert(loadstring(lua.source(questions, by_header), "=classify"))
  return chunk(ffi.cast, ffi.typeof("int32_t *"), bit.band, too_short)
end

return lua
