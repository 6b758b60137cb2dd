-- SPDX-License-Identifier: Apache-2.0
-- process() of an element that runs a decision program: a Lua function of its own for
-- each short program, a call of C for a long one.

local kernel = require("click.classification.kernel")
local lua = require("click.classification.lua")
local step = require("click.classification.step")

local run = {}

local LONG = 64 -- values from which on C runs the program

local function constant(jump)
  if jump == step.NEVER then
    return function () return nil, 1 end
  end
  local output = 1 - jump
  return function (_, p) return p, output end
end

local function size(questions)
  local n = 0
  for i = 0, questions.n - 1 do n = n + #questions[i].values end
  return n
end

--- process(self, p) that sends packets where the program says, or drops them as the
--- element's first drop. `questions` are the program's; `by_header` is true if offsets
--- are those of headers. The second result must be kept as long as the function is.
function run.process(program, questions, by_header)
  if program.everything then return constant(program.everything) end
  local c = kernel.new(questions, by_header)
  local interpreter, code = c.run, c.program
  local function by_c(_, p)
    local output = interpreter(code, p)
    if output == 0 then return nil, 1 end
    return p, output
  end
  if size(questions) > LONG then return by_c, c end
  return lua.process(questions, by_header, by_c), c
end

return run
