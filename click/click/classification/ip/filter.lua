-- SPDX-License-Identifier: Apache-2.0
-- The decision program of a list of rules, each a target and an IP pattern.

local arguments = require("click.arguments")
local files = require("core.lib.files")
local meaning = require("click.classification.ip.meaning")
local packed = require("click.classification.packed")
local pattern = require("click.classification.ip.pattern")
local Program = require("click.classification.program")
local step = require("click.classification.step")
local text_of = require("click.language.text")
local tree = require("click.classification.tree")

local filter = {}

-- The protocol is asked before fragments: ports need both.
local function rank(offset)
  return offset == meaning.NETWORK + 8 and meaning.NETWORK + 3 or offset
end

local DROPPED = {deny = true, drop = true}

-- The jump that the first word of a rule means.
local function target(word, noutputs, errors)
  if DROPPED[word] then return step.NEVER end
  if word == "allow" then
    if noutputs == 0 then
      errors:error("'allow' is meaningless, element has zero outputs")
    end
    return 0
  end
  local output = arguments.types.int(word, {})
  if not output then
    errors:error("unknown slot ID '%s'", word)
  elseif output < 0 or output >= noutputs then
    errors:error("slot '%d' out of range", output)
  else
    return -output
  end
  return step.NEVER
end

local EVERY = {["-"] = true, any = true, all = true}

-- The program of one rule: a jump, and FAILURE for what doesn't match.
local function rule(words, noutputs, element, errors)
  local jump = target(words[1], noutputs, errors)
  local node = tree.all()
  if words[2] and not (EVERY[words[2]] and #words == 2) then
    table.remove(words, 1)
    node = pattern.parse(words, element, errors)
  end
  return Program.new(node, jump, step.FAILURE)
end

-- Passes messages on to an element, behind a prefix.
local function prefixed(element, prefix)
  return {
    error = function (_, format, ...) element:error(prefix .. format, ...) end,
    warning = function (_, format, ...) element:warning(prefix .. format, ...) end,
  }
end

local function rules_of_file(name, add, element, errors)
  local lines = files.lines(name)
  if not lines then
    errors:error("Could not open file %s", name)
    return
  end
  local number = 0
  for _, line in ipairs(lines) do
    local words = pattern.words(text_of.unquote(line:match("^%s*(.-)%s*$")))
    if words[1] then
      local prefix = ("file %s/pattern %d: "):format(name:gsub("%%", "%%%%"), number)
      add(words, prefixed(element, prefix))
      number = number + 1
    end
  end
end

-- Join the programs by halves, so that each is optimized only a few times.
local function join(programs)
  local span = 1
  while span < #programs do
    for i = 1, #programs - span, 2 * span do
      programs[i]:otherwise(programs[i + span])
      programs[i]:optimize(rank)
    end
    span = 2 * span
  end
  local program = programs[1] or Program.new()
  if #programs <= 1 then program:optimize(rank) end
  program:set_failure(step.NEVER)
  return program
end

--- The program of `rules`, a list of texts such as "allow tcp && dst port 80" or "file
--- NAME" (a rule a line), for an element of so many outputs, and its questions
--- (click.classification.packed). The element is told of errors.
function filter.program(rules, noutputs, element)
  local programs = {}
  local function add(words, errors)
    programs[#programs + 1] = rule(words, noutputs, element, errors)
  end
  for i, text in ipairs(rules) do
    local errors = prefixed(element, ("pattern %d: "):format(i - 1))
    local words = pattern.words(text_of.unquote(text))
    if not words[1] then
      element:error("empty pattern %d", i - 1)
    elseif words[1] ~= "file" then
      add(words, errors)
    elseif #words ~= 2 then
      errors:error("file must have a single argument, the filename")
    else
      rules_of_file(words[2], add, element, errors)
    end
  end
  local program = join(programs)
  program:sort(rank)
  return program, packed.questions(program)
end

return filter
