-- SPDX-License-Identifier: Apache-2.0
-- The classes of elements by name: all that the modules below elements/ define. Each
-- file there returns a list of classes; a new file is found by being there. It is
-- loaded when a class is looked for whose name is in its text, between double quotes
-- (the spec asks whether each is found so).

local dirent = require("posix.dirent")
local meanwhile = require("core.lib.meanwhile")
local stat = require("posix.sys.stat")
local tables = require("core.lib.tables")

local registry = {}

local classes = {}     -- by name, aliases too: those that are loaded
local listed = {}      -- the classes; in the order of their names when complete
local family = {}      -- of each class: the folder that it is defined in
local loaded = {}      -- true for each module whose classes are there
local complete = false -- are all?

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

local all_modules -- their names, once they are asked for
local sources = {} -- the text of each by its name

local function modules()
  all_modules = all_modules or modules_in(folder(), "click.elements.", {})
  return all_modules
end

local function source_of(module)
  local text = sources[module]
  if not text then
    local name = module:gsub("^click%.elements%.", ""):gsub("%.", "/")
    local file = assert(io.open(("%s/%s.lua"):format(folder(), name)))
    text = file:read("*a")
    file:close()
    sources[module] = text
    meanwhile.pause()
  end
  return text
end

local function add(class, name)
  if classes[name] and classes[name] ~= class then
    error(("two element classes are called %s"):format(name))
  end
  classes[name] = class
end

-- The classes that the module defines.
local function load(module)
  if loaded[module] then return end
  loaded[module] = true
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
  meanwhile.pause()
end

local function load_all()
  if complete then return end
  complete = true
  for _, module in ipairs(modules()) do load(module) end
  table.sort(listed, function (a, b) return a.name < b.name end)
end

-- Load what defines the class of that name: a module that has the name in its text. To
-- load all takes ten times as long as a small configuration's other work.
local function load_class(name)
  local definition, mention = ('name = "%s"'):format(name), ('"%s"'):format(name)
  for _, text in ipairs{definition, mention} do
    for _, module in ipairs(modules()) do
      if not loaded[module] and source_of(module):find(text, 1, true) then
        load(module)
        if classes[name] then return end
      end
    end
  end
end

--- The class of that name, or nil.
function registry.find(name)
  if not (classes[name] or complete) then load_class(name) end
  return classes[name]
end

--- All classes, in the order of their names.
function registry.list()
  load_all()
  return listed
end

--- The folder of elements/ that the class is defined in, "standard".
function registry.family(class) return family[class] end

--- The names, those of aliases too, sorted.
function registry.names()
  load_all()
  return tables.sorted_keys(classes)
end

return registry
