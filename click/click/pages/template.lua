-- SPDX-License-Identifier: Apache-2.0
-- Templates of click-pretty: text with tags, <~name attribute=value ...>, in the place
-- of which comes what is known of a configuration. <~elements> expands its `entry` for
-- each element, in which <~name>, <~type>, <~inputs> ... are that element's; and so on
-- (doc/click.md has them all).

local failure = require("core.failure")
local graph = require("click.pages.graph")
local names = require("click.pages.names")

local template = {}

local DEEPEST = 50 -- tags within tags

-- Tags -----------------------------------------------------------------------------

local QUOTES = {['"'] = true, ["'"] = true}

-- A value at `at`, and where it ends: within quotes, or up to a space or ">".
local function read_value(text, at)
  local quote = text:sub(at, at)
  if not QUOTES[quote] then return text:match("^([^%s>]*)()", at) end
  local stop = text:find(quote, at + 1, true) or #text + 1
  return text:sub(at + 1, stop - 1), stop + 1
end

-- The tag at `at`, which is behind its "<~": its name, its attributes (true: without a
-- value), and where the text goes on.
local function read_tag(text, at)
  local name, i = text:match("^([^%s>=]*)()", at)
  local attributes = {}
  while true do
    i = text:match("^%s*()", i)
    local key, behind = text:match("^([^%s=>]+)()", i)
    if not key then break end
    if text:sub(behind, behind) == "=" then
      attributes[key], i = read_value(text, behind + 1)
    else
      attributes[key], i = true, behind
    end
  end
  return name, attributes, (text:find(">", i, true) or #text) + 1
end

local tags = {}

-- A tag without a meaning, or one that has none here, expands to nothing.
local function tag_text(at, name, attributes)
  local o = at.o
  local define = o.defines and o.defines[name]
  if define then return template.expand_at(define, at) end
  local f = tags[name]
  if f and (at.element or at.class or name == "elements" or name == "if") then
    return f(at, attributes) or ""
  end
  f = o.page_tags and o.page_tags[name]
  return f and f() or ""
end

-- The text of a template where `at` says: o, and what is at hand there (element, by its
-- number; class; port and its side; the attributes of <~elements>).
function template.expand_at(text, at)
  local parts, from = {}, 1
  at = setmetatable({depth = (at.depth or 0) + 1}, {__index = at})
  if at.depth > DEEPEST then failure.raise("template: a tag contains itself") end
  while true do
    local start = text:find("<~", from, true)
    parts[#parts + 1] = text:sub(from, (start or 0) - 1)
    if not start then return table.concat(parts) end
    local name, attributes
    name, attributes, from = read_tag(text, start + 2)
    parts[#parts + 1] = tag_text(at, name, attributes)
  end
end

local function given(value) return value and value ~= true and value or nil end

-- What comes for each of `list` (things that are at hand there), or if there is none.
local function listed(at, list, entry, none, sep)
  if #list == 0 then return none and template.expand_at(none, at) or "" end
  local parts = {}
  for i, here in ipairs(list) do
    parts[i] = template.expand_at(here.entry or entry or "", setmetatable(here,
      {__index = at}))
  end
  return table.concat(parts, sep or "")
end

-- Lists of elements ----------------------------------------------------------------

local function names_of(o)
  o.names = o.names or names.of(o.flat)
  return o.names
end

-- Part `which` of `count`, all as long but for the last.
local function column(list, which, count)
  local size, part = math.ceil(#list / count), {}
  for i = (which - 1) * size + 1, math.min(which * size, #list) do
    part[#part + 1] = list[i]
  end
  return part
end

function tags.elements(at, a)
  local list = {}
  for _, entry in ipairs(names_of(at.o)) do
    local text = given(entry.element and a.entry or entry.class and a.typeentry)
    if text then
      list[#list + 1] = {element = entry.element, class = entry.class, entry = text}
    end
  end
  local which, count = (given(a.column) or ""):match("^(%d+)/(%d+)$")
  if tonumber(count or 0) > 0 then
    list = column(list, tonumber(which), tonumber(count))
  end
  return listed(setmetatable({lists = a}, {__index = at}), list, nil, nil, given(a.sep))
end

function tags.typerefs(at, a)
  local list, class = {}, at.class or at.o.flat.elements[at.element].class
  for _, entry in ipairs(names_of(at.o)) do
    local e = entry.element and at.o.flat.elements[entry.element]
    if e and e.class == class then list[#list + 1] = {element = entry.element} end
  end
  return listed(at, list, given(a.entry) or given(at.lists and at.lists.typeref), nil,
    given(a.sep))
end

-- Elements -------------------------------------------------------------------------

local function linked(url, text) return ('<a href="%s">%s</a>'):format(url, text) end

local function to_class(at, class, text)
  local url = at.o.class_url and at.o.class_url(class)
  return url and linked(at.o.escape(url), text) or text
end

local function element_of(at) return at.element and at.o.flat.elements[at.element] end

function tags.name(at, a)
  local e = element_of(at)
  if not e then return at.o.escape(at.class) end
  local text = at.o.escape(e.name)
  if a.link == "type" then return to_class(at, e.class, text) end
  if a.link and at.o.anchors[e.name] then return linked("#e-" .. text, text) end
  return text
end

function tags.type(at, a)
  local e = element_of(at)
  local class = e and e.class or at.class
  local text = at.o.escape(class)
  return a.link and to_class(at, class, text) or text
end

function tags.anonymous(at)
  local e = element_of(at)
  return e and names.is_anonymous(e) and "yes"
end

local CHARACTER = "^[%z\1-\127\192-\255][\128-\191]*()"

-- The first `n` characters (not bytes).
local function shortened(text, n)
  local at = 1
  for _ = 1, n do at = text:match(CHARACTER, at) or at + 1 end
  return at <= #text and text:sub(1, at - 1) .. "..." or text
end

function tags.config(at, a)
  local e = element_of(at)
  if not e or (e.config or "") == "" then return end
  local limit = tonumber(given(a.limit))
  local text = at.o.escape(limit and shortened(e.config, limit) or e.config)
  return a.parens and "(" .. text .. ")" or text
end

function tags.configlink(at, a)
  local e = element_of(at)
  local text = given(a.text) or given(at.lists and at.lists.configlink)
  if not (e and text and at.o.anchors[e.name]) then return end
  return linked("#e-" .. at.o.escape(e.name), template.expand_at(text, at))
    .. (given(a.sep) or "")
end

-- Ports ----------------------------------------------------------------------------

local function counted(n, a, what)
  if not a.english then return tostring(n) end
  return ("%d %s%s"):format(n, what, n == 1 and "" or "s")
end

-- How many ports each element has, by its number.
local function ports_of(at)
  local o = at.o
  if not o.ninputs then o.ninputs, o.noutputs = graph.count_ports(o.flat) end
  return o.ninputs[at.element] or 0, o.noutputs[at.element] or 0
end

function tags.ninputs(at, a) return counted(ports_of(at), a, "input") end
function tags.noutputs(at, a) return counted(select(2, ports_of(at)), a, "output") end

-- A list of ports or connections: the attributes of its own, or of <~elements>, which
-- begin with `what`.
local function by_attributes(at, a, list, what)
  local lists = at.lists or {}
  return listed(at, list, given(a.entry) or given(lists[what]),
    given(a.noentry) or given(lists["no" .. what]), given(a.sep))
end

local function ports(at, a, n, is_output)
  local list = {}
  for port = 0, n - 1 do
    list[#list + 1] = {port = port, is_output = is_output, own = at.element}
  end
  return by_attributes(at, a, list, is_output and "outputentry" or "inputentry")
end

function tags.inputs(at, a)
  local n = ports_of(at)
  return ports(at, a, n, false)
end

function tags.outputs(at, a)
  local _, n = ports_of(at)
  return ports(at, a, n, true)
end

function tags.port(at) return at.port and tostring(at.port) end

function tags.processing(at)
  return at.port and (at.o.kind(at.own, at.is_output, at.port) or "agnostic")
end

local function connections(at, a, is_output)
  if not at.own then return end
  local list = {}
  for _, c in ipairs(at.o.flat.connections) do
    if is_output and c.from == at.own and c.output == at.port then
      list[#list + 1] = {element = c.to, port = c.input}
    elseif not is_output and c.to == at.own and c.input == at.port then
      list[#list + 1] = {element = c.from, port = c.output}
    end
  end
  return by_attributes(at, a, list,
    is_output and "outputconnection" or "inputconnection")
end

function tags.inputconnections(at, a) return connections(at, a, false) end
function tags.outputconnections(at, a) return connections(at, a, true) end

-- Conditions -----------------------------------------------------------------------

local COMPARE = {
  eq = function (x, y) return x == y end, ne = function (x, y) return x ~= y end,
  gt = function (x, y) return x > y end, lt = function (x, y) return x < y end,
  ge = function (x, y) return x >= y end, le = function (x, y) return x <= y end,
}

tags["if"] = function (at, a)
  local test = template.expand_at(given(a.test) or "", at)
  local is_so = test ~= ""
  for name, compare in pairs(COMPARE) do
    if given(a[name]) then
      local other = template.expand_at(a[name], at)
      local x, y = tonumber(test), tonumber(other)
      is_so = compare(x and y and x or test, x and y and y or other)
    end
  end
  local text = given(is_so and a["then"] or not is_so and a["else"])
  return text and template.expand_at(text, at)
end

-- Texts ----------------------------------------------------------------------------

--- A template's text with what its tags stand for. `o` as in html.page; page_tags are
--- functions for tags of the page.
function template.expand(text, o) return template.expand_at(text, {o = o}) end

--- A template for one element, by its number in `o.flat`, as text without links.
function template.label(text, o, i)
  return template.expand_at(text, {o = o, element = i})
end

return template
