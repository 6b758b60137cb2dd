-- SPDX-License-Identifier: Apache-2.0
-- Files in JSON or YAML that people write (lib.document.node says what is read of
-- them). Whatever is wrong is a sentence with the file and the line.

local failure = require("core.failure")
local json = require("lib.document.json")
local spelling = require("core.lib.spelling")
local node = require("lib.document.node")
local stat = require("posix.sys.stat")
local yaml = require("lib.document.yaml")
local tables = require("core.lib.tables")

local document = {}

local MOST_BYTES = 4 * 1024 * 1024

local PARSERS = {json = json.parse, yaml = yaml.parse, yml = yaml.parse}

--- Is a file of this name such a document?
function document.is_one(path)
  return PARSERS[path:match("%.(%w+)$") or ""] ~= nil
end

--- The document that a command line's `words` name: the first word, or, if that is an
--- option, the first that is one; nil if there is none.
function document.first_of(words)
  local options_first = words[1] and words[1]:match("^%-")
  for i = 1, options_first and #words or math.min(1, #words) do
    if document.is_one(words[i]) then return words[i] end
  end
end

--- The text of the file. Raises a failure if it isn't a file, or is too long.
--- `most` is the number of bytes that it may have (default 4 MB).
function document.text(path, most)
  most = most or MOST_BYTES
  local found, problem = stat.stat(path)
  if not found then failure.usage("can't read %s", problem) end
  if stat.S_ISREG(found.st_mode) == 0 then
    failure.usage("can't read %s: it isn't a file", path)
  elseif found.st_size > most then
    failure.usage("%s has %.1f MB; up to %g MB are read", path, found.st_size / 2^20,
      most / 2^20)
  end
  local file
  file, problem = io.open(path, "rb")
  if not file then failure.usage("can't read %s", problem) end
  local text = file:read(most)
  file:close()
  return text or ""
end

-- The number of the first line that isn't UTF-8, or nil. (Not exact: what would be
-- written shorter passes.)
local function line_of_bytes(text)
  local rest = text:gsub("[\194-\223][\128-\191]", "__")
    :gsub("[\224-\239][\128-\191][\128-\191]", "___")
    :gsub("[\240-\244][\128-\191][\128-\191][\128-\191]", "____")
  local at = rest:find("[\128-\255%z]")
  return at and select(2, rest:sub(1, at):gsub("\n", "")) + 1
end

--- Raise a failure about that line of the file.
function document.refuse(path, line, fmt, ...)
  failure.usage("%s:%d: %s", path, line, fmt:format(...))
end

local function no_pause() end

--- The node of `text`, which is what the file at `path` has. Raises a failure. `pause`,
--- if given, is called again and again: it may yield.
function document.parse(path, text, pause)
  local bad = line_of_bytes(text)
  if bad then document.refuse(path, bad, "this is no text (UTF-8)") end
  text = text:gsub("^\239\187\191", "")
  local ok, result = pcall(PARSERS[path:match("%.(%w+)$")], text, pause or no_pause)
  if ok then return result end
  if type(result) ~= "table" or not result.problem then error(result, 0) end
  document.refuse(path, result.line, "%s", result.problem)
end

local IS = {
  map = {"a map", function (n) return n.map ~= nil end},
  list = {"a list", function (n) return n.list ~= nil end},
  string = {"a string", function (n) return type(n.value) == "string" end},
  boolean = {"true or false", function (n) return type(n.value) == "boolean" end},
  number = {"a number", function (n) return type(n.value) == "number" end},
}

--- The node, if it is of that kind ("map", "list", "string", "boolean", "number"); else
--- a failure is raised about `what`.
function document.want(path, n, what, kind)
  local name, is = unpack(IS[kind])
  if is(n) then return n end
  document.refuse(path, n.line, "%s is %s, not %s", what, name, node.kind(n))
end

--- Raise a failure unless the map has only these keys, a list; `what` has them.
function document.check_keys(path, map, what, known)
  local set = tables.set_of(known)
  for _, at in ipairs(map.keys) do
    if not set[at.key] then
      local name = tostring(at.key):sub(1, 40)
      document.refuse(path, at.line, "%s has no key %s%s; there %s %s", what,
        node.shown(at.key), spelling.hint(name, known), #known == 1 and "is" or "are",
        #known == 0 and "none" or table.concat(known, ", "))
    end
  end
end

return document
