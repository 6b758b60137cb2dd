-- SPDX-License-Identifier: Apache-2.0
-- The public functions of a module as its text has them, with the comments before them:
-- those of the table that the file returns.

local comments = {}

local function lines_of(path)
  local lines = {}
  for line in io.lines(path) do lines[#lines + 1] = line end
  return lines
end

-- The name that the file returns, or nil.
local function returned(lines)
  for i = #lines, math.max(1, #lines - 3), -1 do
    local name = lines[i]:match("^return ([%w_]+)%s*$")
    if name then return name end
  end
end

-- The lines of the `---` comment that ends before line number `at`; nil: there is none.
local function comment_before(lines, at)
  local first = at
  while lines[first - 1] and lines[first - 1]:match("^%-%-") do first = first - 1 end
  while first < at and not lines[first]:match("^%-%-%-[^-]") do first = first + 1 end
  if first == at then return nil end
  local text = {}
  for i = first, at - 1 do text[#text + 1] = (lines[i]:gsub("^%-%-%-? ?", "")) end
  return text
end

-- The file's first comment, without its licence line.
local function heading(lines)
  local text, i = {}, 1
  while lines[i] and lines[i]:match("^%-%-") do
    if not lines[i]:match("SPDX") then
      text[#text + 1] = (lines[i]:gsub("^%-%-%-? ?", ""))
    end
    i = i + 1
  end
  return text
end

--- What is in the file: {heading = lines, functions = {{name =, sign = "." or ":",
--- arguments = text, line =, comment = lines or nil}}}.
function comments.read(path)
  local lines = lines_of(path)
  local name = returned(lines)
  local found = {heading = heading(lines), functions = {}}
  for i, line in ipairs(lines) do
    local of, sign, called, arguments =
      line:match("^function ([%w_]+)([.:])([%w_]+)(%b())")
    if not of then
      of, called, arguments = line:match("^([%w_]+)%.([%w_]+) = function ?(%b())")
      sign = "."
    end
    if of and of == name then
      table.insert(found.functions, {name = called, sign = sign, arguments = arguments,
        line = i, comment = comment_before(lines, i)})
    end
  end
  return found
end

return comments
