-- SPDX-License-Identifier: Apache-2.0
-- Puts other elements in the place of patterns of elements, as click-xform does.
--
-- A pattern fits elements of its classes that are connected as its own are, with no
-- other connections among them, and with connections to others only where the pattern
-- has such: each of its inputs and outputs is in use, and what comes by one goes to all
-- elements that it goes to in the pattern. An argument $name fits any argument, the
-- same wherever the name stands; the replacement gets it.

local edit = require("click.language.edit")
local text_of = require("click.language.text")

local rewrite = {}

-- Arguments ------------------------------------------------------------------------

-- Do the arguments fit those of the pattern? `values` of names are added to.
local function arguments_fit(pattern, config, values)
  local wanted, given = text_of.arguments(pattern), text_of.arguments(config)
  if #wanted ~= #given then return false end
  for i, argument in ipairs(wanted) do
    if argument ~= given[i] then
      local name = argument:match("^%$[%w_]+$")
      if not name or (values[name] or given[i]) ~= given[i] then return false end
      values[name] = given[i]
    end
  end
  return true
end

-- The replacement's arguments, with the values of names.
local function filled_in(config, values)
  local list = text_of.arguments(config)
  local changed = false
  for i, argument in ipairs(list) do
    if values[argument] then list[i], changed = values[argument], true end
  end
  return changed and table.concat(list, ", ") or config
end

-- Finding --------------------------------------------------------------------------

local function key(from, output, to, input)
  return ("%d %d %d %d"):format(from, output, to, input)
end

-- What is looked up of the graph while it doesn't change.
local function index_of(graph)
  local index = {by_class = {}, connected = {}}
  for i, e in graph:each() do
    index.by_class[e.class] = index.by_class[e.class] or {}
    table.insert(index.by_class[e.class], i)
  end
  for _, c in ipairs(graph.connections) do
    index.connected[key(c.from, c.output, c.to, c.input)] = true
  end
  return index
end

-- Are the connections of the pattern between those of its elements that have a place,
-- which the one numbered `last` has now, there in the graph?
local function is_connected(index, pattern, place, last)
  for _, c in ipairs(pattern.graph.connections) do
    local from, to = place[c.from], place[c.to]
    if (c.from == last or c.to == last) and from and to
      and not index.connected[key(from, c.output, to, c.input)] then
      return false
    end
  end
  return true
end

-- The port of what is around the pattern that stands for `far`, a port of an element
-- beyond: the lowest which the pattern connects with the port of element `i`, and with
-- others only if `far` is connected with those, too. Nil if there is none.
local function port_around(match, far, i, port, inwards)
  local pattern, place = match.pattern, match.place
  local around = inwards and pattern.input or pattern.output
  local found
  local function connections(p)
    if inwards then return pattern.graph:from(around, p) end
    return pattern.graph:to(around, p)
  end
  local function all_connected(p)
    for _, c in ipairs(connections(p)) do
      local at = inwards and key(far[1], far[2], place[c.to] or 0, c.input)
        or key(place[c.from] or 0, c.output, far[1], far[2])
      if not match.index.connected[at] then return false end
    end
    return true
  end
  for _, c in ipairs(around and connections() or {}) do
    local p = inwards and c.output or c.input
    local own, own_port = inwards and c.to or c.from, inwards and c.input or c.output
    local better = own == i and own_port == port and (not found or p < found)
    if better and all_connected(p) then found = p end
  end
  return found
end

-- What leads in and out of the match: lists of {element, port, port around the
-- pattern}; nil if something does that the pattern doesn't have.
local function ways_of(match, graph)
  local part_of, into, out_of = {}, {}, {}
  for i, at in pairs(match.place) do part_of[at] = i end
  for _, c in ipairs(graph.connections) do
    local from, to = part_of[c.from], part_of[c.to]
    if from and to then
      if not match.inner[key(from, c.output, to, c.input)] then return nil end
    elseif to or from then
      local list, far = into, {c.from, c.output}
      if from then list, far = out_of, {c.to, c.input} end
      local port = port_around(match, far, to or from, to and c.input or c.output,
        to ~= nil)
      if not port then return nil end
      list[#list + 1] = {far[1], far[2], port}
    end
  end
  return into, out_of
end

local function uses_all(graph, around, is_input, ways)
  local used = {}
  for _, way in ipairs(ways) do used[way[3]] = true end
  if not around then return true end
  for _, c in ipairs(is_input and graph:from(around) or graph:to(around)) do
    if not used[is_input and c.output or c.input] then return false end
  end
  return true
end

-- Completes a match whose elements all have a place; false if it isn't one.
local function completes(match, graph, rule)
  local made_before, pattern = true, match.pattern
  match.values = {}
  for i, at in pairs(match.place) do
    if graph.elements[at].made_by ~= rule then made_before = false end
    if not arguments_fit(pattern.graph.elements[i].config, graph.elements[at].config,
      match.values) then
      return false
    end
  end
  if made_before then return false end
  match.into, match.out_of = ways_of(match, graph)
  return match.into ~= nil and uses_all(pattern.graph, pattern.input, true, match.into)
    and uses_all(pattern.graph, pattern.output, false, match.out_of)
end

-- The first match of the rule's pattern; nil if there is none.
local function find(graph, index, rule)
  local pattern, wanted = rule.pattern, {}
  for i in pattern.graph:each() do
    if i ~= pattern.input and i ~= pattern.output then wanted[#wanted + 1] = i end
  end
  if #wanted == 0 then return nil end
  local match = {pattern = pattern, place = {}, index = index, inner = {},
    wanted = wanted}
  for _, c in ipairs(pattern.graph.connections) do
    match.inner[key(c.from, c.output, c.to, c.input)] = true
  end
  local taken = {}
  local function go_on(k)
    local i = wanted[k]
    if not i then return completes(match, graph, rule) end
    for _, at in ipairs(index.by_class[pattern.graph.elements[i].class] or {}) do
      if not taken[at] then
        match.place[i], taken[at] = at, true
        if is_connected(index, pattern, match.place, i) and go_on(k + 1) then
          return true
        end
        match.place[i], taken[at] = nil, nil
      end
    end
    return false
  end
  return go_on(1) and match or nil
end

-- Replacing ------------------------------------------------------------------------

-- NAME@1, NAME@2, ...: the first that no element's name begins with.
local function prefix_for(graph, name, counts)
  while true do
    counts[name] = (counts[name] or 0) + 1
    local prefix, free = ("%s@%d"):format(name, counts[name]), true
    for _, e in graph:each() do
      if e.name:sub(1, #prefix + 1) == prefix .. "/" then free = false end
    end
    if free then return prefix end
  end
end

-- A place for an element: the last that came free, or a new one.
local function place_in(graph, free)
  local at = table.remove(free)
  if at then return at end
  graph.n = graph.n + 1
  return graph.n
end

-- While Click's own program replaces, three elements stand for the compound element and
-- its ports. The order of what it writes shows it.
local STAND_INS = 3

-- Puts the replacement's elements into the graph, in the places that came free; their
-- numbers by those in the replacement. One that is called as one of the pattern's keeps
-- the name of that which was found for it.
local function put(graph, rule, match, prefix, free)
  local names, numbers, stand_ins = {}, {}, {}
  for _, i in ipairs(match.wanted) do
    local at = match.place[i]
    names[match.pattern.graph.elements[i].name] = graph.elements[at].name
    free[#free + 1] = at
    graph:remove(at)
  end
  for k = 1, STAND_INS do stand_ins[k] = place_in(graph, free) end
  for i, e in rule.replacement.graph:each() do
    if i ~= rule.replacement.input and i ~= rule.replacement.output then
      numbers[i] = graph:add(e.class, filled_in(e.config, match.values),
        names[e.name] or prefix .. "/" .. e.name, e.landmark, place_in(graph, free))
      graph.elements[numbers[i]].made_by = rule
    end
  end
  table.sort(stand_ins)
  for _, at in ipairs(stand_ins) do free[#free + 1] = at end
  return numbers
end

-- Connect them as in the replacement, then with what led in, then with what led out.
local function connect(graph, rule, match, numbers)
  local part = rule.replacement
  for _, c in ipairs(part.graph.connections) do
    local from, to = numbers[c.from], numbers[c.to]
    if from and to then graph:connect(from, c.output, to, c.input) end
  end
  for _, c in ipairs(part.input and part.graph:from(part.input) or {}) do
    for _, way in ipairs(numbers[c.to] and match.into or {}) do
      if way[3] == c.output then
        graph:connect(way[1], way[2], numbers[c.to], c.input)
      end
    end
  end
  for _, out in ipairs(part.output and match.out_of or {}) do
    for _, c in ipairs(part.graph:to(part.output, out[3])) do
      local from = numbers[c.from]
      if from then graph:connect(from, c.output, out[1], out[2]) end
      for _, way in ipairs(from and {} or match.into) do
        if way[3] == c.output then graph:connect(way[1], way[2], out[1], out[2]) end
      end
    end
  end
end

-- Places that came free are closed up when there are more than a power of two, or many.
local FREE_MOST = 500

local function room_for(n)
  local room = 1
  while room < n do room = room * 2 end
  return room
end

-- The graph, without places that nothing is in if there are too many, how many fit, and
-- the list of those that are free.
local function tidied(graph, room, free)
  if graph.n <= room and #free < FREE_MOST then return graph, room, free end
  graph = edit.new(graph:result())
  return graph, room_for(graph.n), {}
end

-- Replaces the first match there is; its rule, nil if there is none.
local function replace_one(graph, rules, counts, free)
  local index = index_of(graph)
  for _, rule in ipairs(rules) do
    local match = find(graph, index, rule)
    if match then
      local prefix = prefix_for(graph, rule.name, counts)
      connect(graph, rule, match, put(graph, rule, match, prefix, free))
      return rule
    end
  end
end

--- The flat configuration in which the patterns are replaced, as often as one is found;
--- after each, the first is tried again. `rules`: {name =, pattern =, replacement =},
--- as click.transform.patterns reads them. Returns nil and a sentence if there is no
--- end of it within `most` replacements.
function rewrite.apply(flat, rules, most)
  local graph, counts, free = edit.new(flat), {}, {}
  local room = room_for(graph.n)
  for _ = 1, most do
    local rule = replace_one(graph, rules, counts, free)
    if not rule then return graph:result() end
    graph, room, free = tidied(graph, room, free)
  end
  local rule = replace_one(graph, rules, counts, free)
  if not rule then return graph:result() end
  return nil, ("pattern '%s' is found again and again: %d replacements, and no end")
    :format(rule.name, most)
end

return rewrite
