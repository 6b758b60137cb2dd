-- SPDX-License-Identifier: Apache-2.0
-- The classes of elements by name: all that the modules below elements/ define. Each
-- file there returns a list of classes; a new file is found by being there.

local dirent = require("posix.dirent")
local stat = require("posix.sys.stat")

local registry = {}

local classes -- by name, aliases too; nil: not loaded yet
local listed  -- the classes, in the order of their names
local family  -- of each class: the folder that it is defined in

local function folder()
  local here = debug.getinfo(1, "S").source
  return (here:match("^@(.*)/registry%.lua$")) .. "/elements"
end

local function is_folder(path)
  local s = stat.stat(path)
  return s ~= nil and stat.S_ISDIR(s.st_mode) ~= 0
end

-- Names of the modules below the folder, sorted.
local function modules_in(path, prefix, found)
  local entries = dirent.dir(path)
  table.sort(entries)
  for _, entry in ipairs(entries) do
    local name = entry:match("^(.+)%.lua$")
    if name and not name:match("_spec$") then
      found[#found + 1] = prefix .. name
    elseif not entry:match("^%.") and is_folder(path .. "/" .. entry) then
      modules_in(path .. "/" .. entry, prefix .. entry .. ".", found)
    end
  end
  return found
end

local function add(class, name)
  if classes[name] and classes[name] ~= class then
    error(("two element classes are called %s"):format(name))
  end
  classes[name] = class
end

local function load_all()
  classes, listed, family = {}, {}, {}
  for _, module in ipairs(modules_in(folder(), "click.elements.", {})) do
    local list = require(module)
    if type(list) ~= "table" then
      error(("module %s returns no list of element classes"):format(module))
    end
    for _, class in ipairs(list) do
      add(class, class.name)
      for _, alias in ipairs(rawget(class, "aliases") or {}) do add(class, alias) end
      listed[#listed + 1] = class
      family[class] = module:match("^click%.elements%.([^.]+)%.") or "others"
    end
  end
  table.sort(listed, function (a, b) return a.name < b.name end)
end

--- The class of that name, or nil.
function registry.find(name)
  if not classes then load_all() end
  return classes[name]
end

--- All classes, in the order of their names.
function registry.list()
  if not classes then load_all() end
  return listed
end

--- The folder of elements/ that the class is defined in, "standard".
function registry.family(class)
  if not classes then load_all() end
  return family[class]
end

--- The names, those of aliases too, sorted.
function registry.names()
  if not classes then load_all() end
  local names = {}
  for name in pairs(classes) do names[#names + 1] = name end
  table.sort(names)
  return names
end

return registry
