-- SPDX-License-Identifier: Apache-2.0
-- From the parser's compound class to the flat configuration: compound elements are
-- replaced by what they are made of, `a` :: A with an element b becoming `a/b`; what
-- stood for their ports, pipes, vanishes; variables get their values.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local compound = require("click.language.compound")
local contexts = require("click.language.contexts")
local text_of = require("click.language.text")
local variables = require("click.language.variables")
local tables = require("core.lib.tables")

local expansion = {}

local expand -- makes of an element what its class is

-- Elements -------------------------------------------------------------------------

-- A copy of the class's element for an instance whose names begin with `prefix`; nil if
-- there is such an element.
local function copy(x, element, prefix, scope)
  local name = prefix .. element.name
  local known = x.by_name[name]
  if known then
    x.errors:at(element.landmark):error("redeclaration of element '%s'", name)
    x.errors:at(known.landmark):error("'%s' previously declared here", name)
    return nil
  end
  local new = {name = name, class = element.class, config = element.config,
    landmark = element.landmark, pipe = element.pipe, ninputs = element.ninputs,
    noutputs = element.noutputs, scope = scope}
  if element.of_group then new.owner, new.direction = name:match("^(.*)/(%a+)$") end
  x.by_name[name] = new
  table.insert(x.elements, new)
  return new
end

local function connect(x, class, map)
  for _, c in ipairs(class.connections) do
    local from, to = map[c.from], map[c.to]
    if from and to then
      table.insert(x.connections, {from = from, output = c.output, to = to,
        input = c.input, landmark = c.landmark, context = c.context})
    end
  end
end

local function pipe_of(element, direction)
  return {name = element.name .. "/" .. direction, pipe = true,
    landmark = element.landmark, owner = element.name, direction = direction}
end

-- The scope of an instance: parameters and variables of its class.
local function scope_of(class, values, outer)
  local scope = variables.scope(outer:outside(class.depth))
  for i, formal in ipairs(class.formals) do scope:define(formal.name, values[i]) end
  for _, define in ipairs(class.defines) do
    scope:define(define.name, scope:expand(define.value))
  end
  return scope
end

-- Replace the element by its class's elements.
local function open(x, element, class, values)
  local scope = scope_of(class, values, element.scope)
  element.pipe = true
  element.entry, element.exit = pipe_of(element, "input"), pipe_of(element, "output")
  local map = {[class.input] = element.entry, [class.output] = element.exit}
  local new = {}
  for i = 3, #class.elements do
    local inner = copy(x, class.elements[i], element.name .. "/", scope)
    map[class.elements[i]] = inner
    if inner and x.in_place then expand(x, inner) end
    new[#new + 1] = inner
  end
  connect(x, class, map)
  if x.in_place then return end
  for _, inner in ipairs(new) do expand(x, inner) end
end

function expand(x, element)
  if element.pipe then return end
  element.config = element.scope:expand(element.config)
  if element.class.kind ~= "compound" then return end
  local class, values = compound.choose(element.class, element,
    text_of.arguments(element.config), x.errors)
  if class and class.kind == "compound" then return open(x, element, class, values) end
  element.class = class or {kind = "unknown", name = element.class.name}
end

-- Connections ----------------------------------------------------------------------

-- What goes into each pipe and out of it, by port.
local function flows_of(connections)
  local into, out_of = {}, {}
  local function add(flows, pipe, port, c)
    if not pipe.pipe then return end
    flows[pipe] = flows[pipe] or {}
    flows[pipe][port] = flows[pipe][port] or {}
    table.insert(flows[pipe][port], c)
  end
  for _, c in ipairs(connections) do
    c.from, c.to = c.from.exit or c.from, c.to.entry or c.to
    add(into, c.to, c.input, c)
    add(out_of, c.from, c.output, c)
  end
  return into, out_of
end

-- Report ports of pipes that only one side knows.
local function check_pipes(x, some, others, messages)
  local found = {}
  for pipe, list in pairs(some) do
    for port in pairs(list) do
      if not (others[pipe] and others[pipe][port]) then
        found[#found + 1] = {pipe, port}
      end
    end
  end
  table.sort(found, function (a, b)
    if a[1] == b[1] then return a[2] < b[2] end
    return a[1].name < b[1].name
  end)
  for _, pair in ipairs(found) do
    local pipe = pair[1]
    x.errors:at(pipe.landmark):error(messages[pipe.direction], pipe.owner, pair[2])
  end
end

local NO_OUTSIDE = {input = "'%s' input %d unused", output = "'%s' has no output %d"}
local NO_INSIDE = {input = "'%s' has no input %d", output = "'%s' output %d unused"}

-- The real outputs that lead to a port: itself, or what goes into the pipe; and the
-- context link on the way from there, if there is one. The lists are shared, not to be
-- changed.
local function sources(into, known, element, port)
  if not element.pipe then return {{element, port}} end
  known[element] = known[element] or {}
  local list = known[element][port]
  if list then return list end
  list = {}
  known[element][port] = {} -- a circle of pipes has no sources
  local flows = into[element] and into[element][port] or {}
  for i = #flows, 1, -1 do
    local c = flows[i]
    for _, source in ipairs(sources(into, known, c.from, c.output)) do
      list[#list + 1] = c.context and {source[1], source[2], c.context} or source
    end
  end
  known[element][port] = list
  return list
end

-- Connections between real elements, each once; those that pipes carry come last.
local function straighten(x, index)
  local into, out_of = flows_of(x.connections)
  check_pipes(x, into, out_of, NO_INSIDE)
  check_pipes(x, out_of, into, NO_OUTSIDE)
  local list, seen, known = {}, {}, {}
  for _, piped in ipairs{false, true} do
    for _, c in ipairs(x.connections) do
      if not c.to.pipe and (c.from.pipe or false) == piped then
        for _, source in ipairs(sources(into, known, c.from, c.output)) do
          local new = {from = index[source[1]], output = source[2], to = index[c.to],
            input = c.input, landmark = c.landmark, context = c.context or source[3]}
          local key = ("%d %d %d %d"):format(new.from, new.output, new.to, new.input)
          if not seen[key] then list[#list + 1] = new end
          seen[key] = true
        end
      end
    end
  end
  return list
end

local function in_order(a, b)
  if a.to ~= b.to then return a.to < b.to end
  if a.input ~= b.input then return a.input < b.input end
  if a.from ~= b.from then return a.from < b.from end
  return a.output < b.output
end

-- All of it ------------------------------------------------------------------------

-- The scope of the file; `given` are variables from outside, which count more.
local function file_scope(file, given, keep)
  local scope = variables.scope()
  for _, define in ipairs(file.defines) do scope:define(define.name, define.value) end
  local names = tables.sorted_keys(given)
  for _, name in ipairs(names) do scope:define(name, given[name], true) end
  local defines = {}
  for i, name in ipairs(scope.names) do
    defines[i] = {name = name, value = scope.values[name]}
  end
  if keep then
    for _, name in ipairs(scope.names) do scope:define(name, "$" .. name, true) end
  end
  return scope, defines
end

--- The flat configuration of `file`, the parser's class: elements, connections and
--- defines (see click.language.read). `options`: errors; variables, {NAME = value} from
--- outside; keep_variables, to leave those of the file as they are; in_place, to have
--- elements of nested compounds and connections as they were written, not in a router's
--- order.
function expansion.flatten(file, options)
  local x = {errors = options.errors, elements = {}, connections = {}, by_name = {},
    in_place = options.in_place}
  local scope, defines = file_scope(file, options.variables or {},
    options.keep_variables)
  local map = {}
  for _, element in ipairs(file.elements) do
    map[element] = copy(x, element, "", scope)
  end
  connect(x, file, map)
  for i = 1, #file.elements do expand(x, x.elements[i]) end
  local flat, index = {elements = {}, defines = defines}, {}
  for _, element in ipairs(x.elements) do
    if not element.pipe then
      table.insert(flat.elements, {name = element.name, class = element.class.name,
        config = element.config, landmark = element.landmark})
      index[element] = #flat.elements
    end
  end
  flat.connections = straighten(x, index)
  contexts.open(flat)
  if not x.in_place then table.sort(flat.connections, in_order) end
  return flat
end

return expansion
