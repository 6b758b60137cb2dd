-- SPDX-License-Identifier: Apache-2.0
-- Modules from a tree of Snabb's layout, built or not (-p, --snabb). Next to Lua files
-- such a tree has C headers, texts, C and DynASM that Snabb's build turns into modules
-- and functions: here they become so as they are loaded.

local compile = require("core.compile")
local dirent = require("posix.dirent")
local failure = require("core.failure")
local lua52 = require("core.lua52")

local tree = {}

-- Files -----------------------------------------------------------------------------

--- The text of the file at `path`, or nil.
function tree.contents(path)
  local file = io.open(path, "rb")
  local text = file and file:read("*a") -- nil of a folder
  if file then file:close() end
  return text
end

-- Snabb's build makes symbols of paths: whatever isn't a letter or digit becomes "_".
local function symbol(name) return (name:gsub("%W", "_")) end

local listings = {} -- by folder: {[SYMBOL of a name] = the name}

local function listing(folder)
  if not listings[folder] then
    local ok, names = pcall(dirent.dir, folder)
    listings[folder] = {}
    for _, name in ipairs(ok and names or {}) do
      listings[folder][symbol(name)] = name
    end
  end
  return listings[folder]
end

-- The path of what is called `name` in the folder, or has the same symbol; or nil.
local function entry(folder, name)
  local path = folder .. "/" .. name
  local file = io.open(path)
  if file then
    file:close()
    return path
  end
  name = listing(folder)[symbol(name)]
  return name and folder .. "/" .. name
end

-- Loaders ---------------------------------------------------------------------------

-- Modules whose results hang on the order of a table's keys (lib.yang.binary adds keys
-- to a table it goes through): theirs is a fixed one.
local ORDERED = {["lib.yang.schema"] = true, ["lib.yang.binary"] = true}
local ORDERED_PAIRS = "local pairs = require('core.ordered').pairs "

-- Slips in Snabb's files, as patterns and what was meant: sentences about what isn't in
-- a configuration lack their second "..", and call a string; bytes of a packet are
-- copied from the packet itself, where its data was in 2016; and a scheduler of fibers
-- whose task has waited for a second or more sleeps for ever (epoll_wait(2): -1).
local SLIPS = {
  ["lib.yang.path_data"] = {'%.%.tail_name"', '..tail_name.."'},
  ["apps.lwaftr.fragmentv6"] = {"(copy%(repkt%.data, first_fragment)(,)", "%1.data%2"},
  ["lib.fibers.sched"] = {"math%.min%(10, next_time %- now%)",
    "math.max(0, math.min(10, next_time - now))"},
}

local function load_lua(name, text, path)
  if SLIPS[name] then text = text:gsub(unpack(SLIPS[name])) end
  text = lua52.lengths(text):gsub("struct rte_mbuf", "struct packet") -- they are one
  if ORDERED[name] then text = ORDERED_PAIRS .. text end
  local chunk, err = loadstring(text, "@" .. path)
  return chunk or error(err, 0)
end

local function load_dynasm(name, _, path)
  local found, dynasm = pcall(require, "dynasm")
  if not found then
    failure.raise("%s needs DynASM, which isn't there: give the src folder of a Snabb "
      .. "checkout, which has it, with --snabb", path)
  end
  return load_lua(name, dynasm.translate_tostring(path, {lang = "lua"}), path)
end

local function declare(_, text)
  return function () require("ffi").cdef(text) end
end

local function give(_, text)
  return function () return text end
end

local code = {{"lua", load_lua}, {"dasl", load_dynasm}}
local texts = {h = declare, inc = give, events = give, yang = give}

-- The path of the module's file in `dir`, and what makes a loader of it; or nil.
local function find(dir, name)
  local folder, last = dir, name
  for part in name:gmatch("([^.]*)%.") do
    folder = folder and entry(folder, part)
  end
  last = last:match("[^.]*$")
  if not folder then return nil end
  for _, kind in ipairs(code) do
    local path = entry(folder, last .. "." .. kind[1])
    if path and path:match("%.(%l+)$") == kind[1] then return path, kind[2] end
  end
  local stem, suffix = last:match("^(.*)_(%l+)$")
  local path = texts[suffix] and entry(folder, stem .. "." .. suffix)
  if path and path:match("%.(%l+)$") == suffix then return path, texts[suffix] end
end

-- The text of `programs.inc`, which the build makes: a program's name a line.
local function list_programs(dir)
  local names = {}
  for _, name in pairs(listing(dir .. "/program")) do
    if not name:match("%.") then names[#names + 1] = name end
  end
  table.sort(names)
  return table.concat(names, "\n") .. "\n"
end

--- A searcher (package.loaders) for modules in the folder `dir`. C that lies beside one
--- is compiled, but for the names in the set `except`.
function tree.searcher(dir, except)
  return function (name)
    if name == "programs_inc" then return give(name, list_programs(dir)) end
    -- Also "lib.virtio.virtio.h", for the header virtio.h.
    local stem, suffix = name:match("^(.*)%.(%l+)$")
    local path, make = find(dir, name)
    if not path and texts[suffix] then path, make = find(dir, stem .. "_" .. suffix) end
    if not path then
      return ("\n\tno file '%s/%s.lua'"):format(dir, (name:gsub("%.", "/")))
    end
    compile.folder(path:match("^(.*)/"), dir, except or {})
    return make(name, tree.contents(path), path)
  end
end

return tree
