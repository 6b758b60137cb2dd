-- SPDX-License-Identifier: Apache-2.0
-- Classes of apps by name: "apps.ip.dec_ttl.dec_ttl.DecTtl" is DecTtl of the module
-- apps.ip.dec_ttl.dec_ttl. A module's name alone will do where it has one class.

local failure = require("core.failure")
local spelling = require("core.lib.spelling")
local walk = require("core.lib.walk")

local classes = {}

local MOST_DEPTH = 6 -- of folders that modules are looked for in, to name the nearest

-- Looking for modules ------------------------------------------------------------

local function may_have_modules(name, depth)
  return depth < MOST_DEPTH and name:match("^[%w_]+$") ~= nil
end

-- The names of the modules there are below apps/.
local function modules()
  local found = {}
  for tree in package.path:gmatch("([^;]*)/%?%.lua") do
    walk.files(tree .. "/apps", function (_, name)
      local module = name:match("^([%w_/]+)%.lua$")
      if module and not module:match("_spec$") then
        found[#found + 1] = "apps." .. module:gsub("/", ".")
      end
    end, may_have_modules)
  end
  return found
end

local function find(module)
  return package.loaded[module] ~= nil
    or package.searchpath(module, package.path) ~= nil
end

-- Classes of a module ------------------------------------------------------------

local function is_class(value)
  return type(value) == "table" and type(rawget(value, "new")) == "function"
end

local function classes_of(module)
  local names = {}
  for name, value in pairs(module) do
    if type(name) == "string" and is_class(value) then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local function load(name)
  local ok, module = pcall(require, name)
  if not ok then
    local problem = tostring(module):match("^[^\n]*")
    failure.usage("the module %s can't be loaded: %s", name, problem)
  elseif type(module) ~= "table" then
    failure.usage("the module %s returns no table of classes", name)
  end
  return module
end

local function only_class(name)
  local module = load(name)
  if is_class(module) then return module end
  local names = classes_of(module)
  if #names == 1 then return module[names[1]] end
  failure.usage("%s is a module; add the class: %s", name, #names == 0
    and "it has none" or name .. "." .. table.concat(names, ", " .. name .. "."))
end

local function unknown(text, name)
  local module = text:match("^(.*)%.[^.]*$") or text
  local hint = spelling.hint(module, modules())
  if hint == "" then
    hint = "; write one such as apps.basic.basic_apps.Sink (doc/app-list.md has all)"
  end
  failure.usage("there is no module of the class '%s'%s", name or text, hint)
end

--- The class that `text` names. Raises a failure.
function classes.find(text)
  if not text:match("^[%w_]+[%w_.]*$") or text:find("..", 1, true) then
    unknown(text, text:sub(1, 80):gsub("[%c\127]", "?"))
  end
  local name, field = text:match("^(.*)%.([%w_]+)$")
  if name and find(name) then
    local module = load(name)
    if is_class(module[field]) then return module[field] end
    if not find(text) then
      local names = classes_of(module)
      failure.usage("the module %s has no class '%s'%s; it has %s", name, field,
        spelling.hint(field, names),
        #names == 0 and "none" or table.concat(names, ", "))
    end
  end
  if not find(text) then unknown(text) end
  return only_class(text)
end

return classes
