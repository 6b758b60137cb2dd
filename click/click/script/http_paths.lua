-- SPDX-License-Identifier: Apache-2.0
-- What paths of HTTP mean in a router, and how handlers look as JSON.

local calls = require("click.script.calls")
local cjson = require("cjson")

local paths = {}

local function decoded(s)
  return (s:gsub("%%(%x%x)", function (digits)
    return string.char(tonumber(digits, 16))
  end))
end

-- The element that the longest beginning of `path` names, and the rest behind a slash.
local function longest_element(router, path)
  local found, rest
  local at = 1
  while at do
    local slash = path:find("/", at, true)
    local element = calls.element(router, path:sub(1, (slash or #path + 1) - 1))
    if element then found, rest = element, slash and path:sub(slash + 1) or "" end
    at = slash and slash + 1
  end
  return found, rest
end

--- The element (router.root for a global handler), the handler's name and its argument
--- that `path` stands for; or nil and why it stands for nothing.
function paths.resolve(router, path, aliases)
  path = decoded(path):gsub("^/+", "")
  path = aliases[path] or path
  local element, rest = longest_element(router, path)
  local name, argument = (rest or path):match("^([^/]*)/?(.*)$")
  if element then return element, name ~= "" and name or "handlers", argument end
  if name == "" then return router.root, "list", "" end
  if router.global_handlers[name] then return router.root, name, argument end
  return nil, ("there is no element '%s', nor a global handler of that name")
    :format(name)
end

-- JSON ----------------------------------------------------------------------------

-- Text as JSON must have it: UTF-8. In what isn't, a byte is a character.
local function utf8(text)
  local strange = text:gsub("[\194-\223][\128-\191]", "")
    :gsub("[\224-\239][\128-\191][\128-\191]", "")
    :gsub("[\240-\244][\128-\191][\128-\191][\128-\191]", "")
  if not strange:find("[\128-\255]") then return text end
  return (text:gsub("[\128-\255]", function (c)
    local byte = c:byte()
    return string.char(192 + math.floor(byte / 64), 128 + byte % 64)
  end))
end

local function list(items) return #items == 0 and "[]" or cjson.encode(items) end

local function lines(text)
  local items = {}
  for line in text:gmatch("[^\n]+") do items[#items + 1] = line end
  return items
end

-- What `text`, of the handler "list", names behind the number of them.
local function elements(router, text)
  local items = {}
  for i, name in ipairs(lines(text:match("\n(.*)$"))) do
    local e = calls.element(router, name)
    items[i] = {name = e.name, class = e.class.name, config = utf8(e.config),
      inputs = e.ninputs, outputs = e.noutputs}
  end
  return items
end

local function handlers(text)
  local items = {}
  for i, line in ipairs(lines(text)) do
    local name, flags = line:match("^(%S+)\t(.*)$")
    items[i] = {name = name, read = flags:find("r") ~= nil,
      write = flags:find("w") ~= nil, argument = flags:find("+", 1, true) ~= nil}
  end
  return items
end

local GLOBAL_LISTS = {
  list = elements,
  classes = function (_, text) return lines(text) end,
  packages = function (_, text) return lines(text) end,
  requirements = function (_, text) return lines(text) end,
}

-- A number or a truth value where the text is one.
local function value(text)
  if text == "true" or text == "false" then return text == "true" end
  if text:find("^-?%d+%.?%d*$") and #text <= 15 then return tonumber(text) end
  return text
end

--- What the call of a read handler gave, as JSON: what is a list as a list, anything
--- else as it is.
function paths.json(router, call, text)
  text = utf8(text)
  if call.name == "handlers" then return list(handlers(text)) end
  local of_root = call.element == router.root and GLOBAL_LISTS[call.name]
  if of_root then return list(of_root(router, text)) end
  return cjson.encode(value(text))
end

return paths
