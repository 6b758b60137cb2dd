-- SPDX-License-Identifier: Apache-2.0
-- A decision program: steps, each a test that leads to one further down or to an
-- output. `everything` is where all packets go if no test decides that.

local dominators = require("click.classification.dominators")
local simplify = require("click.classification.simplify")
local step = require("click.classification.step")
local tree = require("click.classification.tree")

local NEVER, FAILURE = step.NEVER, step.FAILURE

local Program = {}
Program.__index = Program

--- A program of a tree (click.classification.tree); without one, of nothing.
function Program.new(node, success, failure)
  local program = setmetatable({steps = {n = 0}, safe_length = 0}, Program)
  if node then
    program.steps = tree.steps(node, success, failure)
  else
    program.everything = FAILURE
  end
  return program
end

--- Let what matches nothing jump to `jump`.
function Program:set_failure(jump)
  if self.everything == FAILURE then self.everything = jump end
  local steps = self.steps
  for i = 0, steps.n - 1 do
    for way = 0, 1 do
      if steps[i][way] == FAILURE then steps[i][way] = jump end
    end
  end
end

--- Go on with the program `other` where this one fails.
function Program:otherwise(other)
  if self.everything and self.everything ~= FAILURE then return end
  local steps, count = self.steps, self.steps.n
  if other.everything then
    self:set_failure(other.everything)
    return
  end
  self:set_failure(count)
  self.everything = nil
  for i = 0, other.steps.n - 1 do
    steps[count + i] = step.moved(other.steps[i], count)
  end
  steps.n = count + other.steps.n
end

--- Ask in the order of `rank`, a function of offsets, where the order is free.
function Program:sort(rank) simplify.sort(self.steps, rank) end

--- Take out what needn't be asked, and join what can be asked at once. `rank` gives the
--- order in which offsets are asked where it is free.
function Program:optimize(rank)
  local steps = self.steps
  self:sort(rank)
  dominators.shorten(steps)
  simplify.combine(steps)
  if steps.n > 0 then self.everything = simplify.compact(steps) end
  if steps.n == 0 and not self.everything then self.everything = NEVER end
  self.safe_length = 0
  for i = 0, steps.n - 1 do
    self.safe_length = math.max(self.safe_length, step.needs(steps[i]))
  end
end

--- The outputs below `noutputs` that no packet reaches: a list.
function Program:unused_outputs(noutputs)
  local used, unused = {}, {}
  if self.everything then used[-self.everything] = true end
  for i = 0, self.steps.n - 1 do
    for way = 0, 1 do used[-self.steps[i][way]] = true end
  end
  for output = 0, noutputs - 1 do
    if not used[output] then unused[#unused + 1] = output end
  end
  return unused
end

--- The program as text, as the handler "program" gives it.
function Program:text()
  local lines = {}
  for i = 0, self.steps.n - 1 do lines[#lines + 1] = step.text(i, self.steps[i]) end
  if self.everything then lines[1] = "all->" .. step.jump_text(self.everything) end
  lines[#lines + 1] = "safe length " .. self.safe_length
  lines[#lines + 1] = "alignment offset 0"
  return table.concat(lines, "\n") .. "\n"
end

return Program
