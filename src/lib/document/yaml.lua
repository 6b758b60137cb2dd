-- SPDX-License-Identifier: Apache-2.0
-- YAML as a tree of nodes that know their lines (lib.document): by libyaml, whose
-- events come by lyaml's module `yaml`. What plain words mean is YAML 1.2's core schema
-- (section 10.3): `no`, `on` and 12:30 are strings. Tags are refused.

local node = require("lib.document.node")

local yaml = {}

local MOST_NODES = 200000 -- with those that aliases repeat

local CONSTANTS = {["true"] = true, ["True"] = true, ["TRUE"] = true,
                   ["false"] = false, ["False"] = false, ["FALSE"] = false}
local NULLS = {[""] = true, ["~"] = true, ["null"] = true, ["Null"] = true,
               ["NULL"] = true}

local function is_number(text)
  return text:match("^[-+]?%d+%.?%d*$") or text:match("^[-+]?%.%d+$")
    or text:match("^[-+]?%d+%.?%d*[eE][-+]?%d+$") or text:match("^0x%x+$")
end

local NULS = {"\\0", "\\x00", "\\u0000", "\\U00000000"} -- in double quotes

-- What ends a line for the parser (YAML 1.1), besides "\n".
local LINE_ENDS = {"\r\n?", "\194\133", "\226\128[\168\169]"}

-- The numbers of the lines in which a NUL is written, as a set.
local function lines_with_nul(text)
  local found, number = {}, 0
  if not text:find("\\[0xuU]") then return found end
  for _, ending in ipairs(LINE_ENDS) do text = text:gsub(ending, "\n") end
  for line in text:gmatch("([^\n]*)\n?") do
    number = number + 1
    line = line:gsub("\\\\", "")
    for _, nul in ipairs(NULS) do
      if line:find(nul, 1, true) then found[number] = true end
    end
  end
  return found
end

-- Is a NUL written in one of these lines? lyaml ends a string there.
local function has_nul(self, first, last)
  for number = first, last do
    if self.nuls[number] then return true end
  end
end

-- The node of a word, with or without quotes.
local function scalar(self, event, line)
  local text = event.value
  if event.style == "DOUBLE_QUOTED"
      and has_nul(self, line, event.end_mark.line + 1) then
    node.refuse(line, "%s has a NUL in it", node.shown(text))
  end
  if event.style ~= "PLAIN" then return node.scalar(line, text) end
  if is_number(text) then return node.number(line, (text:gsub("^%+", ""))) end
  if NULLS[text] or CONSTANTS[text] ~= nil then
    return node.constant(line, CONSTANTS[text], text)
  end
  return node.scalar(line, text)
end

-- The next event, and its line.
local function next_event(self)
  local event = self.parser()
  return event, event.start_mark.line + 1
end

local function count(self, line, n)
  self.pause()
  self.nodes = self.nodes + n
  if self.nodes > MOST_NODES then
    node.refuse(line, "this has more than %d values", MOST_NODES)
  end
end

local function alias(self, event, line)
  local known = self.anchors[event.anchor]
  if not known then
    node.refuse(line, "*%s stands for nothing before it, or for itself", event.anchor)
  end
  count(self, line, known.nodes)
  return known.node
end

local read

local function read_map(self, line, depth)
  local map = node.map(line, depth)
  local event, at = next_event(self)
  while event.type ~= "MAPPING_END" do
    if event.type ~= "SCALAR" then node.refuse(at, "a key is a word or a number") end
    local key = read(self, event, at, depth + 1).value
    if type(key) ~= "number" then key = event.value end
    node.add(map, key, read(self, nil, nil, depth + 1), at)
    event, at = next_event(self)
  end
  return map
end

local function read_list(self, line, depth)
  local list = node.list(line, depth)
  local event, at = next_event(self)
  while event.type ~= "SEQUENCE_END" do
    node.append(list, read(self, event, at, depth + 1))
    event, at = next_event(self)
  end
  return list
end

-- The node that begins with the event, or with the next one.
function read(self, event, line, depth)
  if not event then event, line = next_event(self) end
  if event.type == "ALIAS" then return alias(self, event, line) end
  if event.tag then
    node.refuse(line, "the tag %s isn't taken here", node.shown(event.tag))
  end
  local before = self.nodes
  count(self, line, 1)
  local found
  if event.type == "MAPPING_START" then found = read_map(self, line, depth)
  elseif event.type == "SEQUENCE_START" then found = read_list(self, line, depth)
  else found = scalar(self, event, line) end
  if event.anchor then
    self.anchors[event.anchor] = {node = found, nodes = self.nodes - before}
  end
  return found
end

local function read_all(self)
  local event, line
  repeat event, line = next_event(self) until not event.type:match("_START$")
    or event.type == "MAPPING_START" or event.type == "SEQUENCE_START"
  if event.type == "STREAM_END" then node.refuse(line, "there is nothing in it") end
  local root = read(self, event, line, 1)
  next_event(self) -- the end of the document
  event, line = next_event(self)
  if event.type ~= "STREAM_END" then
    node.refuse(line, "there is a second document; one is taken")
  end
  return root
end

-- libyaml's problem, whose position follows it, as a line and a sentence.
local function explain(message)
  local problem = message:match("^(.-) at document") or message:match("^[^\n]*")
  node.refuse(tonumber(message:match("line: (%d+)")) or 1, "this is no YAML: %s",
    node.plain(problem))
end

--- The node of the text. Raises what is wrong (lib.document.node). `pause` is called
--- again and again.
function yaml.parse(text, pause)
  -- The parser reads `text` in place, and doesn't keep it from being collected.
  local self = {text = text, parser = require("yaml").parser(text), nodes = 0,
    pause = pause, anchors = {}, nuls = lines_with_nul(text)}
  local ok, result = pcall(read_all, self)
  if ok then return result end
  if type(result) == "string" and not result:match("^[^\n]*%.lua:%d+:") then
    explain(result)
  end
  error(result, 0)
end

return yaml
