-- SPDX-License-Identifier: Apache-2.0
-- What stands between two arrows: `a, [1] b :: Tee(2) [0-1], { ... }, ( ... )`. A list
-- of items is read first, then each is looked up or declared, as a class may follow the
-- last of several names. `p` is the parser.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local ports = require("click.language.ports")
local scanner = require("click.language.scanner")

local elements = {}

local ARROWS = {["->"] = true, ["=>"] = true, ["~>"] = true}

--- Is the token an arrow?
function elements.is_arrow(token) return ARROWS[token.kind] ~= nil end

local function report(p, token, ...)
  p.errors:at(scanner.landmark(token)):error(...)
end

-- Reading one ----------------------------------------------------------------------

-- May the pseudoelement be left out where `token` stands, behind the ports `list` if
-- there are any? At the start of a chain that is `input ->`, at the end `-> output`.
local function is_implicit(p, token, list, items, first)
  if not p:is_nested() then return false end
  local alone = list or #items == 0
  if elements.is_arrow(token) then
    if first and alone and not list and not p.ends_with_output then
      p.errors:at(scanner.landmark(token)):warning(
        "suggest 'input %s' or '[0] %s' to start connection", token.text, token.text)
    end
    return first and alone
  end
  if token.kind == "," then return list ~= nil end
  return token.kind ~= "::" and not first and alone
end

local function implicit(p, list, first)
  local item = {name = first and "input" or "output", implicit = true,
    landmark = scanner.landmark(p.scanner)}
  item[first and "outputs" or "inputs"] = list
  return item
end

-- The list ends where an item should be: was that right?
local function no_item(p, token, list, items, first)
  if list then report(p, token, "stranded port ignored") end
  local closing = p:is_nested() and first
  if #items > 0 or closing then return p.scanner:back(token) end
  p:syntax_error(token)
  if token.kind == "end" then p.scanner:back(token) end
end

local function read_declaration(p, item)
  local tokens = p.scanner
  if not tokens:accept("::") then return end
  item.bare = false
  local token = tokens:next()
  if token.kind == "name" then
    item.declared = p:force_class(token.text, token)
  elseif token.kind == "{" then
    item.declared = p:read_compound("", token)
  else
    report(p, token, "missing element type in declaration")
    item.declared = {kind = "unknown", name = item.name}
    tokens:back(token)
  end
end

local function read_config(p, item)
  local token = p.scanner:accept("(")
  if not token then return end
  if p:find_element(item.name) then
    report(p, token, "configuration string ignored on element reference")
  end
  item.config, item.bare = p:read_config(), false
end

local function group_ports(n)
  local list = {}
  for i = 1, n do list[i] = i - 1 end
  return n > 0 and list or nil
end

-- The item that the token begins; nil if none does.
local function begin_item(p, token)
  local landmark = scanner.landmark(token)
  if token.kind == "name" then
    return {name = token.text, class = p:find_class(token.text), bare = true,
      landmark = landmark}
  elseif token.kind == "{" then
    return {name = "", class = p:read_compound("", token), landmark = landmark}
  elseif token.kind == "(" then
    local group, ninputs, noutputs = p:read_group(token)
    return {element = group, name = group.name, landmark = landmark,
      implied = {inputs = group_ports(ninputs), outputs = group_ports(noutputs)}}
  end
end

-- The next item, or nil if there is none; `first`: at the start of a chain.
local function read_item(p, items, first)
  local inputs = ports.parse(p)
  local token = p.scanner:next()
  local item = begin_item(p, token)
  if not item then
    if not is_implicit(p, token, inputs, items, first) then
      return no_item(p, token, inputs, items, first)
    end
    p.scanner:back(token)
    return implicit(p, inputs, first)
  end
  item.inputs = inputs
  read_declaration(p, item)
  read_config(p, item)
  item.outputs = ports.parse(p)
  for field, list in pairs(item.implied or {}) do item[field] = item[field] or list end
  return item
end

-- Looking them up ------------------------------------------------------------------

-- `a, b :: C(x)` alone declares both so: the class of the last one is that of all.
local function share_class(items)
  local last = items[#items]
  if not last.declared then return end
  for i = 1, #items - 1 do
    if not items[i].bare then return end
  end
  for i = 1, #items - 1 do
    items[i].declared, items[i].config = last.declared, last.config
  end
end

local function has_digits_part(name)
  for part in name:gmatch("[^/]+") do
    if part:find("^%d+$") then return true end
  end
end

local function declare(p, item)
  local element = {class = item.class or item.declared, config = item.config,
    landmark = item.landmark, name = item.name}
  if item.class then return p.compound:add_anonymous(item.name, element) end
  if has_digits_part(item.name) then
    p.errors:at(item.landmark):error("element name '%s' has all-digit component",
      item.name)
  end
  return p.compound:add(element)
end

local function resolve(p, item)
  local reporter = p.errors:at(item.landmark)
  local known = p:find_element(item.name)
  if item.element then
    if item.declared then reporter:error("a group can't be declared") end
    return item.element
  elseif known and not item.class then
    if item.declared then
      reporter:error("redeclaration of element '%s'", item.name)
      p.errors:at(known.landmark):error("element '%s' previously declared here",
        item.name)
    end
    return known
  end
  local named_so = item.declared and item.declared.kind == "plain"
    and item.declared.name == item.name
  if item.declared and (item.class or named_so) then
    reporter:error("class '%s' used as element name", item.name)
  elseif not item.declared and not item.class then
    item.class = p:undeclared(item)
  end
  return declare(p, item)
end

--- Read a list of items, up to what can't be one, and look up what they are; nil if
--- there is none. `first`: at the start of a chain, no arrow stands before.
function elements.read(p, first)
  local items, any_ports, any_implicit = {}, false, false
  repeat
    local item = read_item(p, items, first)
    items[#items + 1] = item
    any_ports = any_ports or item and (item.inputs or item.outputs) ~= nil
    any_implicit = any_implicit or item and item.implicit or false
  until not item or not p.scanner:accept(",")
  if #items == 0 then return nil end
  local token = p.scanner:next()
  p.scanner:back(token)
  if any_implicit and not first and elements.is_arrow(token) then
    report(p, token, "implicit ports used in the middle of a chain")
  end
  if #items > 1 and first and not elements.is_arrow(token) and not any_ports
    and not any_implicit then
    share_class(items)
  end
  for _, item in ipairs(items) do item.element = resolve(p, item) end
  return items
end

return elements
