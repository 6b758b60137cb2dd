-- SPDX-License-Identifier: Apache-2.0
-- A decision program as the C interpreter reads it (classify.h).

local ffi = require("ffi")
local bit = require("bit")

local C = require("core.declare")("native/classify.h")
local step = require("click.classification.step")

local kernel = {}

local HEADER_SPACE = 256 -- offsets of each header begin at a multiple (ip/meaning.lua)
local HEADERS = 3

local function native(word) return bit.bswap(word) % 2 ^ 32 end

local function target(jump)
  if jump == step.NEVER then return -1 end
  return jump > 0 and jump or jump - 2
end

-- Where an offset is: the header's number, and the offset in it.
local function place(offset, by_header)
  if not by_header then return 0, offset end
  local header = math.min(math.floor(offset / HEADER_SPACE), HEADERS - 1)
  return header, offset - header * HEADER_SPACE
end
kernel.place = place

-- How many jumps lead to each question.
local function jumps_in(questions)
  local count = {}
  for i = 0, questions.n - 1 do
    for way = 0, 1 do
      local to = questions[i][way]
      count[to] = (count[to] or 0) + 1
    end
  end
  return count
end

-- Questions that follow each other by their no, and look at the same bits, as one: a
-- list of {value, target}, and where its no leads.
local function follow(questions, i, count, taken)
  local q = questions[i]
  local list, seen = {}, {}
  local at, no = q, q[0]
  while true do
    for _, value in ipairs(at.values) do
      local word = native(value)
      if not seen[word] then list[#list + 1] = {word, target(at[1])} end
      seen[word] = true
    end
    local next_one = no > 0 and count[no] == 1 and questions[no]
    if not next_one or next_one.offset ~= q.offset or next_one.mask ~= q.mask
        or next_one.short or q.short then
      return list, no
    end
    taken[no] = true
    at, no = next_one, next_one[0]
  end
end

local function by_value(a, b) return a[1] < b[1] end

local function fill(c, questions, by_header)
  local count, taken, used = jumps_in(questions), {}, 0
  for i = 0, questions.n - 1 do
    local q, to = questions[i], c.questions[i]
    if not taken[i] then
      local list, no = follow(questions, i, count, taken)
      table.sort(list, by_value)
      to.header, to.offset = place(q.offset, by_header)
      to.need = step.needs(q) - (q.mask == 0 and 0 or q.offset)
      to.mask, to.no = native(q.mask), target(no)
      to.too_short = q.short and target(q[1]) or target(no)
      to.first, to.count = used, #list
      for _, pair in ipairs(list) do
        c.values[used], c.targets[used] = pair[1], pair[2]
        used = used + 1
      end
    end
  end
end

--- The questions of a program (click.classification.packed; one at least) for C. With
--- `by_header`, offsets are those of headers, else of the packet. Returns a table of
--- what must be kept, the struct click_program among it as `program`.
function kernel.new(questions, by_header)
  local values = 0
  for i = 0, questions.n - 1 do values = values + #questions[i].values end
  local c = {
    questions = ffi.new("struct click_question[?]", questions.n),
    values = ffi.new("uint32_t[?]", values), targets = ffi.new("int32_t[?]", values),
    program = ffi.new("struct click_program"),
  }
  fill(c, questions, by_header)
  c.program.questions, c.program.values = c.questions, c.values
  c.program.targets = c.targets
  c.run = by_header and C.pg_classify_ip or C.pg_classify
  return c
end

return kernel
