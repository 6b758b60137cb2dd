-- SPDX-License-Identifier: Apache-2.0
-- Checks of what requests ask for: each function raises a sentence.

local cjson = require("cjson")
local engine = require("core.app")
local filter = require("lib.filter")
local spelling = require("core.lib.spelling")
local tables = require("core.lib.tables")

local arguments = {}

-- JSON's null is like none.
local function value_of(request, key)
  local value = request[key]
  if value == cjson.null then return nil end
  return value
end

--- The whole number request[key], from 1 to `most`; `default` if there is none.
function arguments.number(request, key, default, most)
  local n = value_of(request, key)
  if n == nil then return default end
  if type(n) ~= "number" or n < 1 or n % 1 ~= 0 or n > most then
    error(("%s is a whole number from 1 to %.0f, not %s"):format(key, most,
      tostring(n)), 0)
  end
  return n
end

--- The string request[key], or nil.
function arguments.text(request, key)
  local text = value_of(request, key)
  if text ~= nil and type(text) ~= "string" then
    error(("%s is a string, not %s"):format(key, tostring(text)), 0)
  end
  return text
end

--- Is request[key] true? false if it isn't there.
function arguments.boolean(request, key)
  local value = value_of(request, key)
  if value ~= nil and type(value) ~= "boolean" then
    error(("%s is true or false, not %s"):format(key, tostring(value)), 0)
  end
  return value or false
end

--- The packet filter request.filter, or nil.
function arguments.filter(request)
  local text = arguments.text(request, "filter")
  if text then filter.new(text) end
  return text
end

-- One of the names that are keys of `known`, or what is wrong.
local function named(what, name, known)
  if known[name] then return name end
  local names = tables.sorted_keys(known)
  error(("there is no %s '%s'%s; there are: %s"):format(what, name,
    spelling.hint(name, names), #names > 0 and table.concat(names, ", ") or "none"), 0)
end

--- The name of an app of the running graph, request.app, or nil.
function arguments.app(request)
  local name = arguments.text(request, "app")
  return name and named("app", name, engine.configuration.apps)
end

--- The text of a link of the running graph, request.link, or nil. Spaces don't count.
function arguments.link(request)
  local text = arguments.text(request, "link")
  if not text then return nil end
  local bare = text:gsub("%s", "")
  for spec in pairs(engine.configuration.links) do
    if spec:gsub("%s", "") == bare then return spec end
  end
  return named("link", text, engine.configuration.links)
end

return arguments
