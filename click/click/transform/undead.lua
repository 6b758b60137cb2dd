-- SPDX-License-Identifier: Apache-2.0
-- Takes out of a configuration what no packet passes: elements that aren't on a way
-- from a source to a sink, and elements that only pass packets on.

local arguments = require("click.arguments")
local edit = require("click.language.edit")
local ports = require("click.router.ports")
local registry = require("click.registry")

-- Does the element's input lead to its output (from 0)? Of an unknown class it may.
local function flows(e, input, output)
  local class = registry.find(e.class)
  local flow = class and class.flow
  if type(flow) ~= "string" then return true end
  return ports.flows(flow, input + 1, output + 1) ~= false
end

-- Static choices -------------------------------------------------------------------

local function chosen(e) return arguments.types.int(e.config, {}) end

-- An element that takes all packets for one output (or from one input) isn't needed.
local function skip_static_switches(graph)
  for i, e in graph:each() do
    local port = chosen(e)
    if e.class == "StaticSwitch" and port then graph:bypass(i, 0, port)
    elseif e.class == "StaticPullSwitch" and port then graph:bypass(i, port, 0)
    elseif e.class == "Null" then
      local inputs, outputs = graph:ports(i)
      if inputs == 1 and outputs == 1 then graph:bypass(i, 0, 0) end
    end
  end
end

-- Life -----------------------------------------------------------------------------

-- The ports where packets begin, or end: "element:port" for those whose other side no
-- port of the element leads to.
local function ends(graph, is_output)
  local list = {}
  for i, e in graph:each() do
    local inputs, outputs = graph:ports(i)
    for port = 0, (is_output and outputs or inputs) - 1 do
      local alone = e.class ~= "Idle"
      for other = 0, (is_output and inputs or outputs) - 1 do
        local input, output = is_output and other or port, is_output and port or other
        if flows(e, input, output) then alone = false end
      end
      if alone then list[#list + 1] = {i, port} end
    end
  end
  return list
end

-- The elements on the ways from these ports, outputs and onwards or inputs and back.
local function reached(graph, list, is_output)
  local elements, seen = {}, {}
  while #list > 0 do
    local i, port = unpack(table.remove(list))
    elements[i] = true
    local key = i .. ":" .. port
    local connections = seen[key] and {}
      or is_output and graph:from(i, port) or graph:to(i, port)
    seen[key] = true
    for _, c in ipairs(connections) do
      local far = is_output and c.to or c.from
      local inputs, outputs = graph:ports(far)
      elements[far] = true
      for other = 0, (is_output and outputs or inputs) - 1 do
        local input, output = is_output and c.input or other,
          is_output and other or c.output
        if flows(graph.elements[far], input, output) then
          list[#list + 1] = {far, other}
        end
      end
    end
  end
  return elements
end

-- Elements that never had ports are there for others to see.
local function is_live(graph, i, counts, from_source, to_sink)
  if graph.elements[i].class == "Idle" then return false end
  return from_source[i] and to_sink[i] or counts[i][1] + counts[i][2] == 0
end

-- Which ports the elements have in use: {inputs, outputs} by element.
local function all_ports(graph)
  local list = {}
  for i in graph:each() do list[i] = {graph:ports(i)} end
  return list
end

local function remove_dead(graph, counts, tell)
  local from_source = reached(graph, ends(graph, true), true)
  local to_sink = reached(graph, ends(graph, false), false)
  local dead = {}
  for i in graph:each() do
    if not is_live(graph, i, counts, from_source, to_sink) then dead[#dead + 1] = i end
  end
  for _, i in ipairs(dead) do
    tell(graph.elements[i])
    graph:remove(i)
  end
end

-- Schedulers and Tees --------------------------------------------------------------

local function renumber(list, field)
  table.sort(list, function (a, b) return a[field] < b[field] end)
  for k, c in ipairs(list) do c[field] = k - 1 end
end

local SCHEDULERS = {RoundRobinSched = true, PrioSched = true}
local TEES = {Tee = true}

-- Ports that nothing is connected to any more go; what has one left isn't needed.
local function shrink(graph, counts)
  for i, e in graph:each() do
    if SCHEDULERS[e.class] or TEES[e.class] then
      local is_scheduler = SCHEDULERS[e.class] or false
      local list = is_scheduler and graph:to(i) or graph:from(i)
      renumber(list, is_scheduler and "input" or "output")
      if TEES[e.class] then
        graph.elements[i] = {name = e.name, class = e.class, config = #list .. "",
          landmark = e.landmark}
      end
      counts[i] = {graph:ports(i)}
      if #list == 1 then graph:bypass(i, 0, 0) end
    end
  end
end

-- Ports that were in use and aren't are connected to an Idle.
local function fill_ports(graph, counts)
  local idle, inputs, outputs = nil, 0, 0
  for i in graph:each() do
    for port = 0, (counts[i] and counts[i][1] or 0) - 1 do
      if #graph:to(i, port) == 0 then
        idle = idle or graph:add("Idle")
        graph:connect(idle, outputs, i, port)
        outputs = outputs + 1
      end
    end
    for port = 0, (counts[i] and counts[i][2] or 0) - 1 do
      if #graph:from(i, port) == 0 then
        idle = idle or graph:add("Idle")
        graph:connect(i, port, idle, inputs)
        inputs = inputs + 1
      end
    end
  end
end

--- The flat configuration without what no packet passes. tell(element) is called of
--- each element that goes since it is dead.
return function (flat, tell)
  local graph = edit.new(flat)
  local counts = all_ports(graph)
  skip_static_switches(graph)
  remove_dead(graph, counts, tell or function () end)
  shrink(graph, counts)
  fill_ports(graph, counts)
  return graph:result()
end
