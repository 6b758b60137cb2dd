-- SPDX-License-Identifier: Apache-2.0
-- Modules that both Perigee and a tree given with -p or --snabb have: which is used is
-- said at start, and --prefer-tree chooses the tree's.

local C = require("core.declare")("net/checksum/checksum.h")
local dirent = require("posix.dirent")
local failure = require("core.failure")
local main = require("core.main")
local stat = require("posix.sys.stat")
local this_engine = require("core.this_engine")
local tree = require("core.tree")
local unistd = require("posix.unistd")

local both = {}

local FOLDERS = {"apps", "arch", "core", "lib", "program"}
local OURS = {"src", "snabb"} -- where Perigee has modules of Snabb's names
local NAMED = 8 -- modules in one line; of more it is told how many

local trees = {} -- {dir =, search =} by -p and --snabb, the last first
local preferred = {} -- names of modules

local function has(name)
  for _, root in ipairs(OURS) do
    local path = ("%s/%s/%s.lua"):format(main.root, root, (name:gsub("%.", "/")))
    if unistd.access(path) then return root end
  end
end

-- Drives devices by libmoon in "Accelerating Snabb Programs": Perigee's ports are the
-- counterpart.
local DRIVERS = {["apps.dpdk_device.dpdk_device"] = true}

-- Families: modules that know each other's insides, by their folders. A tree that has
-- changed one of a family brings the whole of it, since its programs expect that. What
-- isn't here (drivers, links to other processes, tables in C) is Perigee's.
local FAMILIES = {
  {"apps.lwaftr"}, {"apps.ipv4", "apps.ipv6"}, {"apps.ipsec", "lib.ipsec"},
  {"lib.protocol"}, {"apps.vlan"},
}

-- [FOLDER of modules] = its family
local FAMILY_OF = {}
for _, family in ipairs(FAMILIES) do
  for _, folder in ipairs(family) do FAMILY_OF[folder] = family end
end

local function family_of(name) return FAMILY_OF[name:match("^%w+%.[%w_]+")] end

-- Is Perigee's module used, whatever a tree has? So it is with its engine.
local function is_ours(name)
  return DRIVERS[name] or name:match("^core%.") and has(name) == "src"
end

--- Searches (package.loaders) modules that are Perigee's in any case.
function both.find_ours(name)
  if not is_ours(name) then return nil end
  local path = ("%s/%s/%s.lua"):format(main.root, has(name), (name:gsub("%.", "/")))
  return assert(loadfile(path))
end

local function has_folder(name)
  for _, root in ipairs(OURS) do
    local path = ("%s/%s/%s"):format(main.root, root, (name:gsub("%.", "/")))
    local found = stat.stat(path)
    if found and stat.S_ISDIR(found.st_mode) ~= 0 then return true end
  end
  return false
end

-- Call visit(name, path) for each module of Lua or DynASM, in the folder and below,
-- that Perigee has, too. Only folders that Perigee has are looked at: a tree may be
-- large, and its links lead in circles.
local function each_shared(folder, prefix, visit)
  local ok, names = pcall(dirent.dir, folder)
  if ok then table.sort(names) end
  for _, name in ipairs(ok and names or {}) do
    local stem, suffix = name:match("^([%w_-]+)%.(%l+)$")
    local module = prefix .. (stem or name):gsub("-", "_")
    if suffix == "lua" or suffix == "dasl" then
      if has(module) then visit(module, folder .. "/" .. name) end
    elseif name:match("^[%w_-]+$") and has_folder(module) then
      each_shared(folder .. "/" .. name, module .. ".", visit)
    end
  end
end

-- Has it packets within structs of its own? Here they can't be: they are mbufs.
local function keeps_packets(path)
  return (tree.contents(path) or ""):find("struct packet +[%w_]+ *;") ~= nil
end

-- Is the file as in the last version of Snabb?
local function is_upstreams(name, path)
  local text = tree.contents(path) or ""
  return require("core.upstream_digests")[name] == C.pg_crc32c(text, #text, 0)
end

-- The names of modules in `dir` that Perigee has, too, but for what is unchanged.
local function modules_in(dir, unchanged)
  local list = {}
  for _, folder in ipairs(FOLDERS) do
    each_shared(dir .. "/" .. folder, folder .. ".", function (name, path)
      if not unchanged(name, path) then list[#list + 1] = name end
    end)
  end
  return list
end

local function listed(names)
  local shown = table.concat(names, ", ", 1, math.min(#names, NAMED))
  if #names <= NAMED then return shown end
  return ("%s and %d more"):format(shown, #names - NAMED)
end

-- Workers, and what they run for their managers, need not say it again.
local function is_first()
  return not this_engine.worker() and not os.getenv("SNABB_PROGRAM_LUACODE")
end

-- The names of `names`, which a tree has changed, that are of no family; and of those
-- families, the list of their folders. Every module of theirs that can be is preferred.
local function bring_families(dir, names)
  local others, folders, brought = {}, {}, {}
  for _, name in ipairs(names) do
    local family = family_of(name)
    if not family then
      others[#others + 1] = name
    elseif not brought[family] then
      brought[family] = true
      for _, folder in ipairs(family) do folders[#folders + 1] = folder end
    end
  end
  for _, folder in ipairs(folders) do
    local place = dir .. "/" .. folder:gsub("%.", "/")
    each_shared(place, folder .. ".", function (name, path)
      if not keeps_packets(path) then preferred[#preferred + 1] = name end
    end)
  end
  return others, folders
end

local function say(option, dir, what, names)
  if #names == 0 or not is_first() then return end
  io.stderr:write(("perigee: %s %s: "):format(option, dir), what:format(listed(names)),
    "\n")
end

--- The tree `dir`, searched by search(name), was given with the option. If Perigee's
--- modules come first, families of which the tree has changed some are the tree's, and
--- which modules differ from Snabb's is said; else which take their place.
function both.add(option, dir, search, ours_first)
  table.insert(trees, 1, {dir = dir, search = search})
  if not ours_first then
    say(option, dir, "these modules are used, not Perigee's: %s",
      is_first() and modules_in(dir, is_ours) or {})
    return
  end
  local others, folders = bring_families(dir, modules_in(dir, is_upstreams))
  for _, folder in ipairs(folders) do
    table.insert(main.origins, {what = folder, dir = dir})
  end
  say(option, dir, "the tree's own modules are used in %s", folders)
  say(option, dir, "Perigee's own modules are used, not the tree's changed ones "
    .. "(--prefer-tree MODULE chooses those): %s", others)
end

--- Use the tree's module `name`, not Perigee's (before both.settle).
function both.prefer(name)
  if name:match("^core%.") and name ~= "core.lib" and has(name) == "src" then
    failure.usage("--prefer-tree %s: Perigee's engine is made of its own %s; give "
      .. "core.lib, or a module of lib, apps or program", name, name)
  end
  preferred[#preferred + 1] = name
end

-- What programs get: the tree's module, with what only Perigee's has.
local function take(name, load)
  local ours = package.loaded[name]
  package.loaded[name] = nil
  package.preload[name] = function (...)
    local result = load(...)
    local module = result ~= nil and result or package.loaded[name]
    if type(module) == "table" and type(ours) == "table" then
      for key, value in pairs(ours) do
        if rawget(module, key) == nil then rawset(module, key, value) end
      end
    end
    return result
  end
end

--- Have the modules that were preferred come from the trees.
function both.settle()
  for _, name in ipairs(preferred) do
    local load
    for _, one in ipairs(trees) do
      local found = not load and one.search(name)
      load = type(found) == "function" and found or load
    end
    if not load then
      failure.usage("--prefer-tree %s: no tree given with --snabb or -p has it", name)
    end
    take(name, load)
  end
end

return both
