-- SPDX-License-Identifier: Apache-2.0
-- Compound element classes, as the parser makes them: elements, connections between
-- them, parameters. The file itself is one, too. A class is a table:
--
--     {kind = "plain", name=}                     elements that are written in Lua
--     {kind = "unknown", name=}                   an error that has been reported
--     {kind = "compound", name=, landmark=, formals=, defines=, elements=,
--       connections=, depth=, ninputs=, noutputs=, next=}
--
-- Classes of one name form a chain by `next`: the first that fits is taken.
-- An element is {name=, class=, config=, landmark=, ninputs=, noutputs=}, the last two
-- being how many ports connections use. Pipes are elements that will vanish: what goes
-- into one comes out, port by port. `input` and `output` are such, and so are those of
-- a group, its `entry` and `exit`.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local compound = {}

local Compound = {}
Compound.__index = Compound

--- A compound class called `name` ("" if it has no name), within `outer` (or nil: the
--- file).
function compound.new(name, landmark, outer)
  local self = setmetatable({kind = "compound", name = name, landmark = landmark,
    depth = outer and outer.depth + 1 or 0, formals = {}, defines = {}, values = {},
    elements = {}, by_name = {}, connections = {}, declared = {}, nothing_counts = 0},
    Compound)
  if outer then
    self.input = self:add{name = "input", pipe = true, landmark = landmark}
    self.output = self:add{name = "output", pipe = true, landmark = landmark}
    self.nothing_counts = 2
  end
  return self
end

--- What messages call the class.
function compound.title(class)
  return class.name ~= "" and class.name or "<anonymous>"
end

--- A class of that name is declared in it.
function Compound:declare(name) table.insert(self.declared, name) end

-- Elements -------------------------------------------------------------------------

--- Add the element (name, class, config, landmark).
function Compound:add(element)
  element.config = element.config or ""
  element.ninputs, element.noutputs = 0, 0
  table.insert(self.elements, element)
  if not element.anonymous then self.by_name[element.name] = element end
  return element
end

--- Add an element without a name of its own: Class@N, as it is the Nth.
function Compound:add_anonymous(class_name, element)
  element.number = #self.elements - self.nothing_counts + 1
  element.name = ("%s@%d"):format(class_name, element.number)
  element.anonymous = class_name
  return self:add(element)
end

--- Add a group: its pipe, entry and exit.
function Compound:add_group(landmark)
  local group = self:add_anonymous("", {pipe = true, group = true, landmark = landmark})
  local function pipe(name)
    return self:add{name = group.name .. "/" .. name, pipe = true, of_group = true,
      landmark = landmark}
  end
  group.entry, group.exit = pipe("input"), pipe("output")
  return group
end

--- Give elements without names theirs for good, now that those with names are known.
function Compound:name_anonymous()
  for _, element in ipairs(self.elements) do
    local n = element.number
    while element.anonymous and self.by_name[element.name]
      and self.by_name[element.name] ~= element do
      n = n + 1
      element.name = ("%s@%d"):format(element.anonymous, n)
    end
    self.by_name[element.name] = element
  end
end

--- Connect output `k` of `from` with input `i` of `to`, both from 0; by the context
--- link `context`, if it is given.
function Compound:connect(from, k, to, i, landmark, context)
  from, to = from.exit or from, to.entry or to
  from.noutputs = math.max(from.noutputs, k + 1)
  to.ninputs = math.max(to.ninputs, i + 1)
  table.insert(self.connections,
    {from = from, output = k, to = to, input = i, landmark = landmark,
      context = context})
end

--- Report pipes from outside (an input) or to it, of what is called `title`, with ports
--- that nothing uses or of the wrong direction. Returns how many ports it has.
function Compound:check_pipe(pipe, is_output, title, reporter)
  local name = is_output and "output" or "input"
  local wrong = is_output and pipe.noutputs or pipe.ninputs
  if wrong > 0 then
    reporter:error("'%s' pseudoelement '%s' may only be used as %s", title, name,
      is_output and "input" or "output")
  end
  local used, ports = {}, is_output and pipe.ninputs or pipe.noutputs
  for _, c in ipairs(self.connections) do
    if is_output and c.to == pipe then used[c.input] = true end
    if not is_output and c.from == pipe then used[c.output] = true end
  end
  for port = 0, ports - 1 do
    if not used[port] then reporter:error("'%s' %s %d missing", title, name, port) end
  end
  return ports
end

--- The class is complete.
function Compound:finish(errors)
  local reporter, title = errors:at(self.landmark), compound.title(self)
  self.ninputs = self:check_pipe(self.input, false, title, reporter)
  self.noutputs = self:check_pipe(self.output, true, title, reporter)
  self:name_anonymous()
end

-- Parameters -----------------------------------------------------------------------

local ORDER = "compound element parameters out of order\n"
  .. "(The correct order is '[positional], [keywords], [__REST__]'.)"

--- Add a parameter; `keyword` is what its arguments begin with, if they do.
function Compound:add_formal(name, keyword, reporter)
  local formals = self.formals
  if self.values[name] then
    return reporter:error("parameter '$%s' multiply defined", name)
  end
  for _, other in ipairs(formals) do
    if keyword and other.keyword == keyword then
      reporter:error("repeated keyword parameter '%s' in compound element", keyword)
      break
    end
  end
  local last = formals[#formals]
  if last and not self.misordered
    and (last.keyword == "__REST__" or last.keyword and not keyword) then
    self.misordered = true
    reporter:error("%s", ORDER)
  end
  self.values[name] = true
  table.insert(formals, {name = name, keyword = keyword})
end

--- Add a variable; its value is text.
function Compound:define(name, value, reporter)
  if self.values[name] then
    return reporter:error("parameter '$%s' multiply defined", name)
  end
  self.values[name] = true
  table.insert(self.defines, {name = name, value = value})
end

-- Split the arguments into those by position and by keyword, where keywords may begin
-- behind the positional ones; what is neither is in `rest`.
local function sort_arguments(arguments, keywords, npositional)
  local positional, by_keyword, rest, any = {}, {}, {}, false
  for _, argument in ipairs(arguments) do
    local keyword, value = argument:match("^(%S+)%s*(.*)$")
    if #positional < npositional then
      table.insert(positional, argument)
    elseif keyword and keywords[keyword] then
      by_keyword[keyword], any = value, true
    else
      table.insert(rest, argument)
    end
  end
  return positional, by_keyword, rest, any
end

--- The values of the parameters for these arguments, a list; nil if they don't fit.
function Compound:assign(arguments)
  local formals, keywords, npositional = self.formals, {}, 0
  for _, formal in ipairs(formals) do
    if formal.keyword then keywords[formal.keyword] = true
    else npositional = npositional + 1 end
  end
  local takes_rest = keywords.__REST__
  keywords.__REST__ = nil
  local positional, by_keyword, rest = sort_arguments(arguments, keywords, npositional)
  if #positional < npositional or (#rest > 0 and not takes_rest) then return nil end
  local values = {}
  for i, formal in ipairs(formals) do
    if not formal.keyword then values[i] = positional[i]
    elseif formal.keyword == "__REST__" then values[i] = table.concat(rest, ", ")
    else values[i] = by_keyword[formal.keyword] end
    if not values[i] then return nil end
  end
  return values
end

-- Choosing among classes of one name -----------------------------------------------

local function plural(n, noun)
  return ("%d %s%s"):format(n, noun, n == 1 and "" or "s")
end

local function ports_of(ninputs, noutputs)
  return plural(ninputs, "input") .. ", " .. plural(noutputs, "output")
end

local function signature(class)
  local names = {}
  for i, formal in ipairs(class.formals) do
    names[i] = not formal.keyword and "<arg>"
      or formal.keyword == "__REST__" and "..." or formal.keyword
  end
  return ("%s%s[%s]"):format(compound.title(class),
    #names > 0 and "(" .. table.concat(names, ", ") .. ")" or "",
    ports_of(class.ninputs, class.noutputs))
end

local function report_no_match(class, element, arguments, errors)
  errors:at(element.landmark):error("no match for '%s[%s%s]'", compound.title(class),
    #arguments > 0 and plural(#arguments, "argument") .. ", " or "",
    ports_of(element.ninputs, element.noutputs))
  local candidates = errors:context("candidates are:")
  while class and class.kind == "compound" do
    candidates:at(class.landmark):message("%s", signature(class))
    class = class.next
  end
end

--- The class of the chain that begins with `class` which the element, with these
--- arguments, is of, and the values of its parameters. nil if there is none, which is
--- reported.
function compound.choose(class, element, arguments, errors)
  local first, near = class, nil
  while class and class.kind == "compound" do
    local values = class:assign(arguments)
    if values and class.ninputs == element.ninputs
      and class.noutputs == element.noutputs then
      return class, values
    end
    near = values and class or near
    class = class.next
  end
  if class then return class end
  -- A class that is the only one can say which port is wrong.
  if not near or first.next then report_no_match(first, element, arguments, errors) end
  if near then return near, near:assign(arguments) end
end

return compound
