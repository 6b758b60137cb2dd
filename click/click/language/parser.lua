-- SPDX-License-Identifier: Apache-2.0
-- Click's grammar: from text to the class `compound.new` makes, whose elements have
-- classes but aren't expanded yet. A name is a class if one of that name is known where
-- it stands, else an element. All errors are reported, none ends the reading.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local compound = require("click.language.compound")
local contexts = require("click.language.contexts")
local elements = require("click.language.elements")
local lookup = require("click.language.lookup")
local ports = require("click.language.ports")
local scanner = require("click.language.scanner")
local text_of = require("click.language.text")

local parser = {}

local Parser = setmetatable({}, {__index = lookup})
Parser.__index = Parser

local DEEPEST = 50

function Parser:error_at(token, ...)
  self.errors:at(scanner.landmark(token)):error(...)
end

function Parser:syntax_error(token)
  if token.kind == "end" then
    self:error_at(token, "syntax error near end of file")
  else
    self:error_at(token, "syntax error near '%s'", token.text)
  end
end

local function expect(self, kind)
  local token = self.scanner:next()
  if token.kind == kind then return token end
  self.scanner:back(token)
  self:error_at(token, "expected '%s'", kind)
end

--- The configuration string behind an opening parenthesis.
function Parser:read_config()
  local config = self.scanner:config()
  expect(self, ")")
  return config
end

--- Are we within a compound element or a group?
function Parser:is_nested()
  return self.group ~= nil or self.compound.depth > 0
end

-- Statements -----------------------------------------------------------------------

local read_statements

-- A chain of elements and arrows.
local function read_connection(self)
  local last, arrow
  while true do
    local items = elements.read(self, not last)
    if not items then break end
    local token = self.scanner:next()
    if not last then ports.check_end(self, items, "input", token) end
    if last then ports.connect(self, last, items, arrow) end
    last = items
    while token.kind == "," or token.kind == "::" do
      self:syntax_error(token)
      token = self.scanner:next()
    end
    if not elements.is_arrow(token) then
      self:end_connection(token)
      break
    end
    arrow = token
    if token.kind == "~>" then contexts.check(self, token) end
  end
  if last then ports.check_end(self, last, "output", self.scanner) end
  self.ends_with_output = last ~= nil and #last == 1
    and last[1].element == self:find_element("output")
end

local BEGINNERS = {name = true, ["{"] = true, ["}"] = true, ["["] = true, [")"] = true,
  ["||"] = true, elementclass = true, require = true, provide = true, define = true,
  ["end"] = true}

--- The token behind a connection: what may begin another statement is given back.
function Parser:end_connection(token)
  if token.kind == ";" then return end
  if not BEGINNERS[token.kind] then self:syntax_error(token) end
  if BEGINNERS[token.kind] or token.kind == "variable" or token.kind == "..." then
    self.scanner:back(token)
  end
end

local function read_define(self)
  if not expect(self, "(") then return end
  local place = scanner.landmark(self.scanner)
  local reporter = self.errors:at(place)
  for _, argument in ipairs(text_of.arguments(self:read_config())) do
    local word, value = text_of.first_word(argument)
    local name = word:match("^%$([%w_]+)$")
    if name then
      self.compound:define(name, value, reporter)
    elseif argument ~= "" then
      reporter:error("bad 'define' declaration: not a variable")
    end
  end
end

local function read_elementclass(self)
  local name = self.scanner:accept("name")
  local token = self.scanner:next()
  if not name then self:error_at(token, "expected element type name") end
  if name then self.compound:declare(name.text) end
  if token.kind == "{" then
    local class = self:read_compound(name and name.text or "", token)
    if name then self.classes[name.text] = class end
  elseif token.kind == "name" and name then
    self.classes[name.text] = self:force_class(token.text, token)
  else
    self:syntax_error(token)
    if name then self.classes[name.text] = {kind = "unknown", name = name.text} end
    if token.kind == "end" then self.scanner:back(token) end
  end
end

local read_require = require("click.language.requirements").read

local STATEMENTS = {
  elementclass = read_elementclass,
  define = read_define,
  require = function (self) read_require(self, expect, read_statements) end,
  [";"] = function () end,
}

local CONNECTIONS = {name = true, ["["] = true, ["{"] = true, ["("] = true,
  ["->"] = true, ["=>"] = true, ["~>"] = true}

--- Read statements up to the end or one of the signs in `closing`, a set; returns that
--- token.
function read_statements(self, closing)
  while true do
    local token = self.scanner:next()
    if CONNECTIONS[token.kind] then
      self.scanner:back(token)
      read_connection(self)
    elseif STATEMENTS[token.kind] then
      STATEMENTS[token.kind](self)
    elseif closing[token.kind] or token.kind == "end" then
      return token
    else
      self:syntax_error(token)
      -- A group that isn't closed ends with the compound around it.
      if self.group and (token.kind == "}" or token.kind == "||") then
        self.scanner:back(token)
        return token
      end
    end
  end
end

-- Groups and compounds -------------------------------------------------------------

local function too_deep(self, token, what)
  self.depth = self.depth + 1
  if self.depth <= DEEPEST then return false end
  if not self.is_too_deep then -- what follows from it is as deep
    self:error_at(token, "maximum %s nesting depth exceeded", what)
  end
  self.is_too_deep = true
  return true
end

--- Read a group behind its parenthesis, `token`. Returns the element, and how many
--- inputs and outputs it has.
function Parser:read_group(token)
  local landmark = scanner.landmark(token)
  local group = self.compound:add_group(landmark)
  local outer, ends = self.group, self.ends_with_output
  self.group, self.ends_with_output = group, true
  if not too_deep(self, token, "element group") then
    local last = read_statements(self, {[")"] = true})
    if last.kind == "end" then
      self:error_at(last, "expected ')'")
      self.scanner:back(last)
    end
  end
  self.depth = self.depth - 1
  self.group, self.ends_with_output = outer, ends
  local reporter, title = self.errors:at(landmark), "<anonymous group>"
  return group, self.compound:check_pipe(group.entry, false, title, reporter),
    self.compound:check_pipe(group.exit, true, title, reporter)
end

local function read_formals(self, class)
  local tokens = self.scanner
  while true do
    local keyword = tokens:accept("name")
    local variable = tokens:accept("variable")
    if not variable then
      if keyword then tokens:back(keyword) end
      local bar = not keyword and tokens:accept("|")
      if not bar and #class.formals > 0 then
        self:error_at(tokens, "expected variable")
      end
      return
    end
    class:add_formal(variable.text:sub(2), keyword and keyword.text,
      self.errors:at(scanner.landmark(variable)))
    if tokens:accept("|") then return end
    if not tokens:accept(",") then
      return self:error_at(tokens, "expected ',' or '|'")
    end
  end
end

-- One of the classes between || and ||. Returns it, and what ended it. Messages say
-- that it is where its first token is, as Click's do.
local function read_body(self, name, token)
  local outer, group = self.compound, self.group
  local classes, ends = self.classes, self.ends_with_output
  local class = compound.new(name, scanner.landmark(self.scanner:peek()), outer)
  self.compound, self.group, self.ends_with_output = class, nil, true
  self.classes = setmetatable({}, {__index = classes})
  local last = token
  if not too_deep(self, token, "compound element") then
    read_formals(self, class)
    last = read_statements(self, {["}"] = true, ["||"] = true})
    if last.kind == "end" then
      self:error_at(last, "expected '}'")
      self.scanner:back(last)
    end
  end
  self.depth = self.depth - 1
  self.compound, self.group, self.ends_with_output = outer, group, ends
  self.classes = classes
  class:finish(self.errors)
  return class, last
end

-- The class that `...` goes on with.
local function read_extension(self, name, token, any)
  local class = self:find_class(name)
  if not class then
    self:error_at(token, "cannot extend unknown element class '%s'", name)
    class = {kind = "unknown", name = name}
  end
  local closing = self.scanner:accept("}")
  if not any or not closing then
    self:error_at(self.scanner, "'...' should occur last, after one or more compounds")
  end
  return class, closing
end

--- Read a compound class called `name` behind its brace, `token`.
function Parser:read_compound(name, token)
  local first, last
  repeat
    local class, ending
    local dots = self.scanner:accept("...")
    if dots then
      class, ending = read_extension(self, name, dots, first)
    else
      class, ending = read_body(self, name, token)
    end
    if last then last.next = class else first = class end
    last, token = class, ending
  until not ending or ending.kind ~= "||"
  return first
end

--- Read the configuration `options.text`, from `options.file`; see click.language.read
--- for the other options. Returns the compound class of the file, with `requirements`,
--- and the `classes` that it declares (by name; their names in order are `declared`).
function parser.read(options)
  local self = setmetatable({errors = options.errors, class_of = options.class_of,
    class_names = options.class_names, any_class = options.any_class, plain = {},
    classes = {}, depth = 0, requirements = {}, libraries = {}, ends_with_output = true,
    packages = options.packages}, Parser)
  self.compound = compound.new("", "", nil)
  self.scanner = scanner.new(options.text, options.file, options.errors)
  read_statements(self, {})
  self.compound:name_anonymous()
  self.compound.requirements, self.compound.compact = self.requirements, self.compact
  self.compound.classes = self.classes
  return self.compound
end

return parser
