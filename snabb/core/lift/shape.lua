-- SPDX-License-Identifier: Apache-2.0
-- The shape of a push function that deals with one packet after the other: it receives
-- all packets of one input in a loop, and sends, frees or keeps each before it takes
-- the next. Only what is surely of that shape counts: everything else has a reason.

local assignments = require("core.lift.assignments")
local before_loop = require("core.lift.before_loop")
local expressions = require("core.lift.expressions")
local link = require("core.link")
local statements = require("core.lift.body")
local syntax = require("core.lift.syntax")

local shape = {}

-- Where the packet has no name: nobody else has this one.
local PACKET = "__packet"

-- As they were: a program may put functions of its own in their places.
local empty, nreadable = link.empty, link.nreadable
local receive, transmit = link.receive, link.transmit

local calls, end_of_link, of_input, other = expressions.calls, expressions.end_of_link,
  expressions.of_input, expressions.other

-- The loop ----------------------------------------------------------------------

-- The name of the input that it empties, or nil.
local function emptied(s, loop)
  if loop.tag == "While" then
    local condition = loop[1]
    if condition.tag == "Paren" then condition = condition[1] end
    return condition.tag == "Op" and condition[1] == "not"
      and of_input(s, condition[2], empty) or nil
  elseif loop.tag == "Fornum" and #loop == 4 then
    local from, to = loop[2], loop[3]
    if from.tag ~= "Number" or tonumber(from[1]) ~= 1 then return nil end
    return to.tag == "Id" and s.counts[to[1]] or of_input(s, to, nreadable)
  end
end

local function body_of(loop) return loop[#loop] end

-- The loop in `for _, input in ipairs(self.input) do LOOP end`, where the app has one
-- input; any other loop is itself.
local function of_only_input(s, loop)
  local ids, values, block = loop[1], loop[2], loop[3]
  if loop.tag ~= "Forin" or #ids ~= 2 or #values ~= 1 or #block ~= 1
      or not (calls(s, values[1], ipairs) or calls(s, values[1], pairs)) then
    return loop
  end
  local over, index, id = values[1][2], ids[1][1], ids[2][1]
  if over.tag ~= "Index" or over[1].tag ~= "Id" or over[1][1] ~= s.self
      or over[2][1] ~= "input" or index == id or s.names[id] then
    return loop
  end
  local name = next(s.linked.input)
  s.names[index], s.names[id] = true, true
  s.constant[index], s.constant[id] = true, true
  s.ends[id], s.counts[index] = {direction = "input", name = name}, name
  return of_only_input(s, block[1])
end

-- The calls of link.receive(INPUT) in the tree.
local function receiving(s, tree)
  local list = {}
  syntax.walk(tree, function (node)
    local tag, op = node.tag, node[1]
    if tag == "Function" or tag == "Op" and (op == "and" or op == "or") then
      return false -- it may not be called
    end
    if of_input(s, node, receive) == s.input then list[#list + 1] = node end
  end)
  return list
end

local FIRST = {Local = true, Set = true, Call = true, Invoke = true}

-- How the loop's body gets its packet: as local p = link.receive(INPUT), with which it
-- begins, or by that call within its first statement.
local function find_packet(s, body)
  local first = body[1]
  local names, values = first[1], first[2]
  local calls_of = FIRST[first.tag] and receiving(s, first) or {}
  if #calls_of ~= 1 then
    other(first, "its loop doesn't begin with `local p = link.receive(...)`")
  end
  s.received = calls_of[1]
  if first.tag == "Local" and #names == 1 and values[1] == s.received then
    s.packet = names[1][1]
    s.after = select(2, s.tree.text:find("^%s*;?", first.end_offset + 1)) + 1
    if s.names[s.packet] then other(first, "'%s' is declared twice", s.packet) end
  else
    s.packet, s.after = PACKET, first.offset
  end
end

-- The name of the output if the statement is link.transmit(OUTPUT, packet).
local function transmitted(s, statement)
  if not calls(s, statement, transmit) then return nil end
  local direction, name = end_of_link(s, statement[2])
  if direction ~= "output" or #statement ~= 3 then
    other(statement, "it sends to a link that isn't one of its outputs by name")
  end
  return name
end

local function number_of_output(s, name)
  for i, known in ipairs(s.outputs) do
    if known == name then return i end
  end
  s.outputs[#s.outputs + 1] = name
  return #s.outputs
end

local BLOCKS = {If = true, While = true, Fornum = true, Forin = true,
                Repeat = true}

-- Does the block's statement number `i` end what is done with the packet? `last`:
-- nothing is done behind the block.
local function is_end(s, block, i, last)
  local following = block[i + 1]
  if following and following.tag == "Goto" then return following[1] == s.label end
  return last and (not following or following == s.final)
end

-- Where packets are sent in the block.
local function sends(s, block, last)
  for i, statement in ipairs(block) do
    local ends = is_end(s, block, i, last)
    local name = transmitted(s, statement)
    if name then
      s.sent[statement] = true
      s.sends[#s.sends + 1] = {node = statement, packet = statement[3], last = ends,
                               output = number_of_output(s, name)}
      s.emits = s.emits or not ends
    elseif statement.tag == "Do" then
      sends(s, statement, ends)
    elseif BLOCKS[statement.tag] then
      for _, part in ipairs(statement) do
        if not part.tag then sends(s, part, ends and statement.tag == "If") end
      end
    end
  end
end

-- Names that may have a meaning for what is recognized.
local function note_meanings(s)
  for i, name in ipairs(syntax.upvalues(s.push)) do
    s.names[name] = true
    local _, value = debug.getupvalue(s.push, i)
    s.constant[name] = before_loop.is_reference(value)
  end
  if s.self then s.names[s.self], s.constant[s.self] = true, true end
end

-- The loop that empties an input, and what it does.
local function analyze_loop(s, loop)
  loop = of_only_input(s, loop)
  s.input = emptied(s, loop)
  if not s.input then
    other(loop, "it doesn't end with a loop that empties one input")
  end
  s.loop_variable = loop.tag == "Fornum" and loop[1][1] or nil
  local body = body_of(loop)
  if #body == 0 then other(loop, "its loop is empty") end
  s.body = body
  find_packet(s, body)
  local final = body[#body]
  if final.tag == "Label" then s.final, s.label = final, final[1] end
  sends(s, body, true)
  for i = s.packet == PACKET and 1 or 2, #body do
    statements.check(s, body[i], false, false)
  end
  s.only_sends = statements.only_sends(s)
  return s
end

-- What is known of `func`, whose tree that is, before it is looked at.
local function begin(app, func, tree, methods, assigned, linked)
  assigned = setmetatable({}, {__index = assigned})
  assignments.add(tree.node, assigned)
  return {
    app = app, push = func, tree = tree, methods = methods, assigned = assigned,
    linked = linked, rewritten = assignments.of_variables(tree.node),
    locals = {}, names = {}, constant = {}, ends = {}, counts = {}, kept = {},
    declared = {}, mentioned = {}, mentioned_once = {}, variables = {},
    is_variable = {}, once = {},
    outputs = {}, sends = {}, sent = {}, fine = {}, emits = false,
  }
end

-- What the argument `node` in a call of s is for the function that is called: `id` is
-- its parameter there.
local function hand_on(s, node, called, id)
  local name = id[1]
  called.names[name], called.constant[name] = true, true
  local direction, of = end_of_link(s, node)
  if node.tag == "Id" and node[1] == s.self then
    called.self = name
  elseif direction then
    called.ends[name] = {direction = direction, name = of}
  else
    called.counts[name] = node.tag == "Id" and s.counts[node[1]]
      or of_input(s, node, nreadable)
      or other(node, "it hands on more than itself, its links and a number of packets")
  end
end

local MOST_CALLS = 3

-- The function's block: what it names and does before, and a loop, or the call of a
-- function that has one.
local function analyze_block(s, depth)
  note_meanings(s)
  local block = before_loop.flatten(s, s.tree.node[2])
  if #block == 0 then other(s.tree.node, "it does nothing with its links") end
  for i = 1, #block - 1 do before_loop.statement(s, block[i]) end
  local last = block[#block]
  local func = last.tag == "Call" and syntax.value(s.push, last[1], s.locals)
  local tree = type(func) == "function" and depth < MOST_CALLS
    and #s.kept + #s.once == 0 and syntax.of(func)
  if not tree then return analyze_loop(s, last) end
  local called = begin(s.app, func, tree, s.methods, s.assigned, s.linked)
  called.callee = func
  local parameters = tree.node[1]
  local last_parameter = parameters[#parameters]
  if #parameters ~= #last - 1 or last_parameter and last_parameter.tag == "Dots" then
    other(last, "it calls a function with other than its parameters")
  end
  for i, id in ipairs(parameters) do hand_on(s, last[i + 1], called, id) end
  return analyze_block(called, depth + 1)
end

local function analyze(s)
  local parameters = s.tree.node[1]
  if #parameters ~= 1 or parameters[1].tag ~= "Id" then
    other(s.tree.node, "it has %d parameters, not only self", #parameters)
  end
  s.self = parameters[1][1]
  return analyze_block(s, 0)
end

--- Is the node of the tree part of what is done before the loop?
function shape.is_before(s, node)
  for _, once in ipairs(s.once) do
    if once.from and node.offset >= once.from and node.offset <= once.to then
      return true
    end
  end
  return false
end

--- What the push() of the app does. `methods` is the set of functions that may be given
--- the app, `assigned` that of the names of fields which they assign, `linked` has the
--- names of its links as keys, {input = set, output = set}. A table: tree
--- (core.lift.syntax) of the function with the loop, which is push() or `callee`; self
--- and packet (names of variables; self may be nil), input (a name), outputs (a list of
--- names), kept (a list of {name =, node =}, what is named before the loop), once and
--- variables (what is done before the loop: a list of {line =, from =, to = offsets,
--- names = text or nil}, and the names of what it gives values to), body (the
--- statements of the loop), received (the call that receives the packet), after (the
--- offset from which the body is run with the packet), sends (a list of {node =,
--- packet = node, output = number, last = whether nothing follows}), emits: whether one
--- isn't the last; only_sends: whether nothing else is done with packets, but to look
--- at them. Or nil, a reason, and the line.
function shape.of(app, methods, assigned, linked)
  local tree, why = syntax.of(app.push)
  if not tree then return nil, why end
  return expressions.try(analyze, begin(app, app.push, tree, methods, assigned, linked))
end

return shape
