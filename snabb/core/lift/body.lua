-- SPDX-License-Identifier: Apache-2.0
-- What the loop of a push function does with a packet besides sending it: nothing with
-- its links, and nothing that would be otherwise if the function ran for each packet.
-- `s` is what is known of the function (core.lift.shape).

local expressions = require("core.lift.expressions")
local link = require("core.link")
local syntax = require("core.lift.syntax")

local body = {}

-- As they were: a program may put functions of its own in their places.
local transmit = link.transmit
local OF_LINKS = {}
for _, name in ipairs{"empty", "full", "front", "nreadable", "nwritable", "receive",
                      "transmit"} do
  OF_LINKS[link[name]] = true
end
local OTHERWISE = "it uses its links in another way than to send and receive"
local calls, end_of_link, other = expressions.calls, expressions.end_of_link,
  expressions.other

local function assigned_names(node)
  local names = {}
  for _, target in ipairs(node[1]) do
    if target.tag == "Id" then names[target[1]] = true end
  end
  return names
end

local DECLARING = {Local = 1, Localrec = 1, Fornum = 1, Forin = 1, Function = 1}

local function declared_names(node)
  local list = node[DECLARING[node.tag]]
  local names = {}
  for _, id in ipairs(node.tag == "Fornum" and {list} or list) do
    names[id[1] or "..."] = true
  end
  return names
end

-- A call's callee may be a method of self, or a function that is given self: those that
-- have been looked at (s.methods).
local function check_call(s, node)
  if node.tag == "Invoke" then
    local object, name = node[1], node[2][1]
    if object.tag == "Id" and object[1] == s.self then
      local method = s.app[name]
      if not (method and s.methods[method]) then
        other(node, "it calls self:%s(), which may use links", name)
      end
      s.fine[object] = true
    end
    return
  end
  local called = syntax.value(s.push, node[1], s.locals)
  if OF_LINKS[called or false] and not (node[2] and end_of_link(s, node[2])) then
    other(node, OTHERWISE) -- of a link that it keeps
  end
  for i = 2, #node do
    local argument = node[i]
    if argument.tag == "Id" and argument[1] == s.self then
      if not (called and s.methods[called]) then
        other(node, "it gives self to a function that may use links")
      end
      s.fine[argument] = true
    end
  end
end

local function check_index(s, node)
  local base, field = node[1], node[2]
  if end_of_link(s, node) then
    other(node, OTHERWISE)
  end
  if base.tag == "Id" and base[1] == s.self then
    if field.tag ~= "String" or field[1] == "input" or field[1] == "output" then
      other(node, OTHERWISE)
    end
    s.fine[base] = true
  end
end

--- Check `node`, a statement of the loop, and all below it: raises why it mustn't be
--- there. `in_loop`: within a loop in that loop; `in_function`: within a function.
function body.check(s, node, in_loop, in_function)
  local tag = node.tag
  if s.sent[node] then
    body.check(s, node[3], in_loop, in_function)
    return
  elseif node == s.received then
    return
  end
  if tag == "Return" and not in_function then
    other(node, "it returns before its loop has ended")
  elseif tag == "Break" and not in_loop then
    other(node, "it leaves its loop early")
  elseif tag == "Call" and calls(s, node, transmit) then
    other(node, "it sends within an expression or a function")
  elseif tag == "Call" or tag == "Invoke" then
    check_call(s, node)
  elseif tag == "Index" then
    check_index(s, node)
  elseif tag == "Id" then
    local name = node[1]
    if s.ends[name] or s.counts[name] or name == s.loop_variable then
      other(node, "it uses '%s' in another way than to send and receive", name)
    elseif name == s.self and not s.fine[node] then
      other(node, "it passes self on")
    elseif in_function and s.is_variable[name] then
      other(node, "a function within it uses '%s', which is another in each call", name)
    end
  elseif tag == "Set" then
    for name in pairs(assigned_names(node)) do
      if s.constant[name] then other(node, "it assigns '%s'", name) end
    end
  end
  if DECLARING[tag] then
    for name in pairs(declared_names(node)) do
      if s.names[name] or name == s.packet then
        other(node, "'%s' is declared twice", name)
      end
    end
  end
  local loops = in_loop or tag == "While" or tag == "Repeat" or tag == "Fornum"
    or tag == "Forin"
  for _, child in ipairs(node) do
    if type(child) == "table" then
      body.check(s, child, loops, in_function or tag == "Function")
    end
  end
end

--- Does it only send each packet, and maybe look at it? Then all remain as long as they
--- came.
function body.only_sends(s)
  local last = s.sends[#s.sends]
  if #s.sends ~= 1 or last.node ~= s.body[#s.body] then return false end
  if last.packet == s.received then return true end
  if last.packet.tag ~= "Id" or last.packet[1] ~= s.packet then return false end
  local harmless, lengthened = {[last.packet] = true}, false
  for i = 2, #s.body do
    syntax.walk(s.body[i], function (node)
      local base = node.tag == "Index" and node[1]
      if base and base.tag == "Id" and base[1] == s.packet and node[2].tag == "String"
          and (node[2][1] == "data" or node[2][1] == "length") then
        harmless[base] = true
      elseif node.tag == "Set" or node.tag == "Goto" then
        for _, target in ipairs(node.tag == "Set" and node[1] or {node}) do
          lengthened = lengthened or target.tag == "Goto"
            or target.tag == "Index" and target[2][1] == "length"
        end
      elseif node.tag == "Id" and node[1] == s.packet and not harmless[node] then
        lengthened = true
      end
    end)
  end
  return not lengthened
end

return body
