-- SPDX-License-Identifier: Apache-2.0
-- What a push function does before its loop: it gives names to links, and to what is
-- the same for all packets; and it does things once for all packets of a call. `s` is
-- what is known of the function (core.lift.shape).

local expressions = require("core.lift.expressions")
local link = require("core.link")
local statements = require("core.lift.body")
local syntax = require("core.lift.syntax")

local before_loop = {}

-- As it was: a program may put a function of its own in its place.
local nreadable = link.nreadable

local calls, end_of_link, of_input, other = expressions.calls, expressions.end_of_link,
  expressions.of_input, expressions.other

-- A variable, or fields of one by names that nothing assigns.
local function is_unassigned(s, node)
  if node.tag == "Id" then return true end
  return node.tag == "Index" and node[2].tag == "String"
    and not s.assigned[node[2][1]] and is_unassigned(s, node[1])
end

-- self.FIELD, the same for all packets: nothing assigns it. Fields of what it holds may
-- change, as others have that, too.
local function is_kept_field(s, node)
  if node.tag ~= "Index" or s.assigned["*"] or not is_unassigned(s, node) then
    return false
  end
  local field = node[2][1]
  return node[1].tag == "Id" and node[1][1] == s.self and field ~= "input"
    and field ~= "output"
end

-- What can't be another from packet to packet, if nobody assigns the name.
local REFERENCES = {["function"] = true, table = true, cdata = true, userdata = true}

local CONSTANTS = {Number = true, String = true, True = true, False = true, Nil = true}

--- Is a variable of this value never to be another?
function before_loop.is_reference(value) return REFERENCES[type(value)] end

-- Which links there are --------------------------------------------------------------

-- Whether a link is there, where the node asks for that alone: self.output.NAME, or
-- several of them with `and`. Nil for other nodes.
local function asks_for_links(s, node)
  if node.tag == "Paren" then return asks_for_links(s, node[1]) end
  if node.tag == "Op" and node[1] == "and" then
    local a, b = asks_for_links(s, node[2]), asks_for_links(s, node[3])
    if a == nil or b == nil then return nil end
    return a and b
  end
  local direction, name = end_of_link(s, node)
  if direction then return s.linked[direction][name] or false end
end

-- Note which links a statement gives names to.
local function note_ends(s, statement)
  local names, values = statement[1], statement[2] or {}
  if statement.tag ~= "Local" or #names ~= #values then return end
  for i, id in ipairs(names) do
    local value = calls(s, values[i], assert) and values[i][2] or values[i]
    local direction, of = end_of_link(s, value)
    if direction then s.ends[id[1]] = {direction = direction, name = of} end
  end
end

local function declares(block)
  for _, statement in ipairs(block) do
    if statement.tag == "Local" or statement.tag == "Localrec" then return true end
  end
  return false
end

--- The statements of the block, a list: those of `if LINK then ... end` if the link is
--- there, and none if it isn't, nor assert(LINK). Names that such a block declares must
--- reach as far as the block around it.
function before_loop.flatten(s, block, list)
  list = list or {}
  for i, statement in ipairs(block) do
    local there
    if statement.tag == "If" and #statement == 2 then
      there = asks_for_links(s, statement[1])
    elseif calls(s, statement, assert) then
      there = asks_for_links(s, statement[2]) or nil
    end
    note_ends(s, statement)
    if there and i < #block and statement.tag == "If" and declares(statement[2]) then
      there = nil
    end
    if there == nil then
      list[#list + 1] = statement
    elseif there and statement.tag == "If" then
      before_loop.flatten(s, statement[2], list)
    end
  end
  return list
end

-- Statements -------------------------------------------------------------------------

-- The names that the trees mention are noted, and returned as a set: no variable of
-- these is declared behind them. `once`: nor is anything that is kept.
local function note_mentioned(s, trees, once)
  local here = {}
  for _, tree in ipairs(trees) do
    syntax.walk(tree, function (node)
      if node.tag ~= "Id" then return end
      here[node[1]], s.mentioned[node[1]] = true, true
      if once then s.mentioned_once[node[1]] = true end
    end)
  end
  return here
end

-- Variables of these names are given values once in each call of push().
local function declare_once(s, statement, ids, values)
  note_mentioned(s, values, true)
  for _, value in ipairs(values) do statements.check(s, value, false, false) end
  local names = {}
  for i, id in ipairs(ids) do
    local name = id[1]
    if s.names[name] or s.mentioned[name] then
      other(id, "'%s' is declared twice", name)
    end
    s.names[name], s.locals[name], names[i] = true, {}, name
    s.variables[#s.variables + 1], s.is_variable[name] = name, true
  end
  s.once[#s.once + 1] = {names = table.concat(names, ", "), line = statement.line,
    from = values[1] and values[1].offset,
    to = values[1] and values[#values].end_offset}
end

-- Is the value the same before each packet? What is known of it is noted by `name`.
local function is_kept(s, name, node)
  local value = calls(s, node, assert) and node[2] or node
  local direction, of = end_of_link(s, value)
  if direction then
    s.ends[name] = {direction = direction, name = of}
    return true
  end
  local counted = of_input(s, node, nreadable)
  if counted then
    s.counts[name] = counted
    return true
  end
  local known = syntax.value(s.push, node, s.locals)
  if not (REFERENCES[type(known)] and is_unassigned(s, node) or CONSTANTS[node.tag]
          or is_kept_field(s, node)) then
    return false
  end
  s.locals[name] = {value = known}
  s.kept[#s.kept + 1] = {name = name, node = node}
  return true
end

local function declare(s, statement)
  local ids, values = statement[1], statement[2] or {}
  local here = note_mentioned(s, values)
  for _, id in ipairs(ids) do
    local name = id[1]
    if s.declared[name] or #ids > 1 and here[name] then
      other(id, "'%s' is declared twice", name)
    end
    s.declared[name] = true
  end
  if #ids ~= #values then return declare_once(s, statement, ids, values) end
  for i, id in ipairs(ids) do
    local name = id[1]
    if not s.rewritten[name] and is_kept(s, name, values[i]) then
      if s.mentioned_once[name] then other(id, "'%s' is declared twice", name) end
      s.names[name], s.constant[name] = true, true
    else
      declare_once(s, statement, {id}, {values[i]})
    end
  end
end

local ONCE = {Call = true, Invoke = true, Set = true, Do = true, If = true,
              Fornum = true, Forin = true, While = true, Repeat = true}

--- Look at a statement before the loop: what it names, and what it does once. Raises
--- what is in the way.
function before_loop.statement(s, statement)
  if statement.tag == "Local" then return declare(s, statement) end
  if not ONCE[statement.tag] then
    other(statement, "it does more than to name things and to reckon before its loop")
  end
  note_mentioned(s, {statement}, true)
  statements.check(s, statement, false, false)
  s.once[#s.once + 1] = {line = statement.line, from = statement.offset,
                         to = statement.end_offset}
end

return before_loop
