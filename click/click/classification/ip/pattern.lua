-- SPDX-License-Identifier: Apache-2.0
-- Parses IP patterns ("src tcp port 80 or 443, not net 10/8") to trees:
--
--     expr   ::= orexpr | orexpr ? expr : expr
--     orexpr ::= term { (or | "||") term }
--     term   ::= factor { [and | &&] factor }
--     factor ::= (not | !) factor | "(" expr ")" | test
--     test   ::= true | false | qualifiers [relation] value

local arguments = require("click.arguments")
local meaning = require("click.classification.ip.meaning")
local names = require("click.classification.ip.names")
local Primitive = require("click.classification.ip.primitive")
local brackets = require("click.classification.ip.brackets")
local tree = require("click.classification.tree")

local pattern = {}

local types = arguments.types

local TWO = {["&&"] = true, ["||"] = true, ["<="] = true, [">="] = true, ["!="] = true,
             ["=="] = true}

--- The words of a pattern, as a list.
function pattern.words(text)
  local words, at = {}, 1
  while true do
    at = text:find("%S", at)
    if not at then return words end
    local word = text:match("^[%w%-./@_:]+", at)
    if not word then
      local two = text:sub(at, at + 1)
      word = TWO[two] and two or two:sub(1, 1)
    end
    words[#words + 1] = word
    at = at + #word
  end
end

-- A parser has `words`, the number `at` of the next one, the `element` whose names are
-- used, `errors`, and the primitive `before`.
local Parser = {}
Parser.__index = Parser

function Parser:word() return self.words[self.at] end

function Parser:is(a, b)
  local word = self:word()
  return word ~= nil and (word == a or word == b)
end

-- The next word, unless it is the last.
function Parser:word_before_last()
  return self.at < #self.words and self:word() or ""
end

-- Expressions ----------------------------------------------------------------------

function Parser:expression()
  local parts = {self:either()}
  while self:is("?") do
    self.at = self.at + 1
    local start = self.at
    parts[#parts + 1] = self:expression()
    if self.at == start or not self:is(":") then
      self.errors:error("missing ':' in ternary expression")
      break
    end
    self.at = self.at + 1
    parts[#parts + 1] = self:either()
  end
  return parts[2] and tree.choice(parts) or parts[1]
end

function Parser:either()
  local parts = {self:term()}
  while self:is("or", "||") do
    self.at = self.at + 1
    parts[#parts + 1] = self:term()
  end
  return parts[2] and tree.either(parts) or parts[1]
end

function Parser:term()
  local parts = {}
  local wanted = true
  while true do
    local start = self.at
    parts[#parts + 1] = self:factor(false)
    if self.at == start then
      if wanted then self.errors:error("missing expression") end
      return tree.both(parts)
    end
    wanted = self:is("and", "&&")
    if wanted then self.at = self.at + 1 end
  end
end

function Parser:factor(negated)
  local start = self.at + 1
  if self:is("not", "!") then
    self.at = start
    local node = self:factor(not negated)
    if self.at == start then
      self.errors:error("missing expression after '%s'", self.words[start - 1])
    end
    return node
  elseif self:is("(") then
    self.at = start
    local node = self:expression()
    if self:is(")") then
      if self.at == start then self.errors:error("missing expression after '('") end
      self.at = self.at + 1
    elseif self.at == start then
      self.errors:error("missing expression after '('")
    else
      self.errors:error("missing ')'")
    end
    return negated and tree.negated(node) or node
  end
  return self:test(negated)
end

-- Tests ----------------------------------------------------------------------------

local ENDS = {[")"] = true, ["||"] = true, ["or"] = true, ["?"] = true, [":"] = true}
local ENDED = {dst = true, dest = true}
local BOTH = {["and"] = "and", ["&&"] = "and", ["or"] = "or", ["||"] = "or"}

function Parser:source(primitive)
  local words, at = self.words, self.at
  local way = BOTH[words[at + 1]]
  if way and ENDED[words[at + 2]] and at + 2 <= #words then
    primitive:set_way(way, self.errors)
    self.at = at + 2
  else
    primitive:set_way("src", self.errors)
  end
end

-- Takes the next word if it qualifies the primitive.
function Parser:qualifier(primitive)
  local word = self:word()
  local kind = names.kind(word)
  if kind then
    primitive:set_kind(kind, self.errors)
    if type(kind) == "table" and kind.protocol then
      primitive:set_transport(kind.protocol, self.errors)
    end
    return true
  end
  local meant, value = names.find(word, nil, nil, self.element)
  if meant == "proto" then
    primitive:set_transport(value, self.errors)
  elseif meant ~= nil then
    return false
  elseif word == "src" then
    self:source(primitive)
  elseif word == "dst" or word == "dest" then
    primitive:set_way("dst", self.errors)
  elseif word == "ip" or word == "ether" then
    if self.header then return false end
    self.header = word
  elseif word == "not" or word == "!" then
    self.negated = not self.negated
  else
    return false
  end
  return true
end

function Parser:qualifiers(primitive)
  while self:word() and self:qualifier(primitive) do self.at = self.at + 1 end
end

-- The mask behind "&": {kind=, value=}, or nil.
function Parser:mask()
  if self:word_before_last() ~= "&" then return nil end
  local word = self.words[self.at + 1]
  local given
  local number = types.unsigned(word, {})
  if number then
    given = {kind = "int", value = number}
  elseif self.header ~= "ether" and types.ip(word, {}, self.element) then
    given = {kind = "host", value = types.ip(word, {}, self.element)}
  elseif self.header ~= "ip" and types.eth(word, {}, self.element) then
    given = {kind = "ether", value = types.eth(word, {}, self.element)}
  end
  if not given then return nil end
  self.at = self.at + 2
  if given.value == 0 then
    self.errors:error("zero mask ignored")
    return nil
  end
  return given
end

local RELATIONS = {
  ["="] = {"=", false}, ["=="] = {"=", false}, ["!="] = {"=", true},
  [">"] = {">", false}, ["<"] = {"<", false}, [">="] = {"<", true},
  ["<="] = {">", true},
}

function Parser:relation(primitive)
  local relation = RELATIONS[self:word_before_last()]
  if not relation then return end
  primitive.op, primitive.negated = relation[1], relation[2]
  self.at = self.at + 1
end

local function set(primitive, data, value, mask)
  primitive.data, primitive.value = data, value
  if mask then primitive.mask = mask end
  return true
end

-- Reads an address; returns whether it is one.
function Parser:address(word, primitive)
  local element, header = self.element, self.header
  local host = header ~= "ether" and types.ip(word, {}, element)
  local net = header ~= "ether" and types.ip_prefix(word, {}, element)
  if host then
    local mask = self:is("mask") and self.words[self.at + 1]
    mask = mask and types.ip(mask, {}, element)
    if mask then
      self.at = self.at + 2
      return set(primitive, "net", host, mask)
    elseif net and primitive.kind == "net" then
      return set(primitive, "net", net.address, net.mask)
    end
    return set(primitive, "host", host)
  elseif net then
    return set(primitive, "net", net.address, net.mask)
  end
  local ether = header ~= "ip" and types.eth(word, {}, element)
  return ether and set(primitive, "ether", ether) or false
end

function Parser:value(primitive)
  local word = self:word()
  if not word then return end
  local kind, value = names.find(word, primitive.kind, primitive.transport,
    self.element)
  self.at = self.at + 1
  if kind == false then
    self.errors:error("%s", value)
    primitive.kind = false
    return
  elseif kind then
    set(primitive, kind, value)
    return
  end
  local number = types.int(word, {})
  if number then
    set(primitive, "int", number % 2 ^ 32)
  elseif not self:address(word, primitive) then
    if primitive.op ~= "=" or primitive.negated then
      self.errors:error("dangling operator near '%s'", word)
    end
    self.at = self.at - 1
  end
end

function Parser:constant(matches, negated)
  self.at = self.at + 1
  local all = tree.all()
  return matches == not negated and all or tree.negated(all)
end

function Parser:test(negated)
  local start, first = self.at, self:word()
  if not first or ENDS[first] then return tree.both{} end
  if first == "true" then return self:constant(true, negated) end
  if first == "false" then return self:constant(false, negated) end
  local primitive = Primitive.new()
  self.header, self.negated = nil, negated
  self:qualifiers(primitive)
  -- Qualifiers begin anew: what was before doesn't count.
  if self.at ~= start then self.before = Primitive.new() end
  if self.before.data == "ether" then self.header = "ether" end
  if self:word_before_last() == "[" and self.at > start and not primitive.kind then
    self.at = brackets.parse(primitive, self.words, self.at, self.errors)
  end
  local mask = self:mask()
  self:relation(primitive)
  self:value(primitive)
  if self.at == start then
    self.errors:error("empty term near '%s'", first)
    return tree.both{}
  end
  if not primitive:check(self.before, self.header, mask, self.errors) then
    return tree.both{}
  end
  self.before = primitive
  local node = meaning.of(primitive)
  return self.negated and tree.negated(node) or node
end

--- The tree of a pattern, given as words. `errors` (with error() and warning(), as in
--- click.errors) is told what is wrong.
function pattern.parse(words, element, errors)
  local parser = setmetatable({words = words, at = 1, element = element,
    errors = errors, before = Primitive.new()}, Parser)
  local node = parser:expression()
  if parser:word() then
    errors:error("garbage after expression at '%s'", parser:word())
  end
  return node
end

return pattern
