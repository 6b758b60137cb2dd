-- SPDX-License-Identifier: Apache-2.0
-- The architecture, checked from the text of the tree: imports point downwards, no
-- module imports itself by way of others, and rooms stay small enough to look over.

local dirent = require("posix.dirent")
local ffi = require("ffi")
local main = require("core.main")
local stat = require("posix.sys.stat")

-- From the bottom up. What isn't below one of these folders (command_line.lua,
-- families, test support, the laboratory) is above all of them.
local ORDER = {"src/core/", "src/net/", "src/lib/", "src/port/", "src/apps/",
  "src/program/"}
local MOST_LINES, MOST_MODULES = 350, 25
local SMALL = 16 -- bytes of a cdata that LuaJIT makes a constant

-- Rooms (folders) that import each other, and why that is so.
local MUTUAL = {
  ["src/core <-> src/core/engine"] = "core.app is what programs know of the engine, "
    .. "and the engine is made of links, packets and configurations",
  ["src/core <-> src/core/cpus"] = "core.app and core.config have Snabb's names for "
    .. "what is done there (configure, replicate), and workers run engines",
  ["src/core <-> src/core/lib"] = "core.lib is one table of what lies in core/lib, "
    .. "which allocates memory and calls the host",
}

local BYTES = {char = true, int8_t = true, uint8_t = true}

-- Read the tree ------------------------------------------------------------------

local sources = {} -- [PATH from the root] = its text

local function read(folder)
  for name in dirent.files(main.root .. "/" .. folder) do
    local path = folder .. "/" .. name
    if name:match("%.lua$") then
      local file = assert(io.open(main.root .. "/" .. path))
      sources[path] = file:read("*a")
      file:close()
    elseif not name:match("^%.") then
      local kind = stat.stat(main.root .. "/" .. path)
      if stat.S_ISDIR(kind.st_mode) ~= 0 then read(path) end
    end
  end
end

local roots = {"src"}
for name in dirent.files(main.root) do
  if stat.stat(("%s/%s/family.lua"):format(main.root, name)) then
    roots[#roots + 1] = name
  end
end
for _, root in ipairs(roots) do read(root) end

local function is_spec(path) return path:match("_spec%.lua$") ~= nil end

local function module_at(name)
  for _, root in ipairs(roots) do
    local path = ("%s/%s.lua"):format(root, (name:gsub("%.", "/")))
    if sources[path] then return path end
  end
end

-- Modules of Snabb's that programs of Snabb's bring along.
local SNABB = {["lib.yang.alarms"] = true, ["lib.timers.ingress_drop_monitor"] = true}
local FOLDERS = {core = true, net = true, lib = true, port = true, apps = true,
  program = true, click = true, moongen = true}

-- Names that end with "." are only the beginning of one.
local function is_missing(name)
  return FOLDERS[name:match("^[^.]+")] and not name:find("%.$") and not SNABB[name]
    and not module_at(name)
end

local imports = {} -- [PATH] = list of paths; specs may use anything
local missing = {}
for path, text in pairs(sources) do
  imports[path] = {}
  if not is_spec(path) then
    for name in text:gmatch("require%s*%(?%s*[\"']([%w_./]+)[\"']") do
      local to = module_at((name:gsub("/", ".")))
      if is_missing((name:gsub("/", "."))) then
        missing[#missing + 1] = ("%s requires %s"):format(path, name)
      end
      if to and to ~= path then table.insert(imports[path], to) end
    end
    table.sort(imports[path])
  end
end

-- Questions ----------------------------------------------------------------------

local function family_of(path) return path:match("^([^/]+)/") end

local function rank(path)
  for i, folder in ipairs(ORDER) do
    if path:sub(1, #folder) == folder then return i end
  end
  return #ORDER + 1
end

local function room(path) return (path:match("^(.*)/")) end

local function each_import(examine)
  local found = {}
  for path, list in pairs(imports) do
    for _, to in ipairs(list) do
      if examine(path, to) then found[#found + 1] = ("%s -> %s"):format(path, to) end
    end
  end
  table.sort(found)
  return found
end

-- A circle of modules that the import of `path` closes, as text; or nil.
local function find_circle()
  local state, way = {}, {}
  local function visit(path)
    state[path] = "open"
    way[#way + 1] = path
    for _, to in ipairs(imports[path]) do
      if state[to] == "open" then return table.concat(way, " -> ") .. " -> " .. to end
      local found = not state[to] and visit(to)
      if found then return found end
    end
    state[path], way[#way] = "done", nil
  end
  for path in pairs(imports) do
    local found = not state[path] and visit(path)
    if found then return found end
  end
end

local function mutual_rooms()
  local between, list = {}, {}
  each_import(function (path, to)
    between[room(path) .. " <-> " .. room(to)] = room(path) ~= room(to) or nil
  end)
  for pair in pairs(between) do
    local a, b = pair:match("^(.*) <%-> (.*)$")
    if a < b and between[b .. " <-> " .. a] then list[#list + 1] = pair end
  end
  table.sort(list)
  return list
end

describe("The tree", function ()
  it("was read", function ()
    assert.is_true(#imports["src/core/app.lua"] > 10)
    assert.is_not_nil(sources["snabb/family.lua"])
  end)

  it("requires modules that exist", function () assert.same({}, missing) end)

  it("imports downwards only", function ()
    assert.same({}, each_import(function (path, to)
      return path:match("^src/") and rank(to) > rank(path)
    end))
  end)

  it("has families that use src and themselves, never each other", function ()
    assert.same({}, each_import(function (path, to)
      return family_of(path) ~= family_of(to) and family_of(to) ~= "src"
    end))
  end)

  it("has no module that imports itself by way of others", function ()
    assert.is_nil(find_circle())
  end)

  it("has few rooms that import each other, for a reason", function ()
    for _, pair in ipairs(mutual_rooms()) do assert.is_string(MUTUAL[pair], pair) end
  end)

  it("has no long file, and no folder of many modules", function ()
    local modules = {}
    for path, text in pairs(sources) do
      local _, lines = text:gsub("\n", "")
      assert.is_true(lines <= MOST_LINES, ("%s has %d lines"):format(path, lines))
      local folder = path:match("^(.*)/")
      modules[folder] = (modules[folder] or 0) + (is_spec(path) and 0 or 1)
    end
    for folder, n in pairs(modules) do
      assert.is_true(n <= MOST_MODULES, ("%s has %d modules"):format(folder, n))
    end
  end)

  it("has C that includes public headers of src/native only", function ()
    local command = "cd '%s' && grep -rnE --include='*.[ch]' "
      .. "'#include \"[^\"]*native/(dpdk|kernels|workarounds)/' src click moongen snabb"
    local pipe = io.popen(command:format(main.root))
    local found = pipe:read("*a")
    pipe:close()
    assert.equal("", found)
  end)

  it("gives an array that a string initializes room for the string's NUL", function ()
    local found = {}
    for path, text in pairs(sources) do
      for kind, size, value in text:gmatch(
          "([%w_]+)%[%?%][\"'],%s*(#[%w_.]+),%s*([%w_.]+)[,)]") do
        if BYTES[kind] and size == "#" .. value then
          found[#found + 1] = ("%s: %s[%s]"):format(path, kind, size)
        end
      end
    end
    assert.same({}, found)
  end)

  -- LuaJIT compiles `(a + n)[k]` without the address of `a`, if that is an array of up
  -- to 16 bytes that a function keeps (doc/jit.md). With [?] it doesn't.
  it("adds no variables to arrays of up to 16 bytes", function ()
    local wrong = {}
    for path, text in pairs(sources) do
      if is_spec(path) then text = "" end
      for names, kind, n in text:gmatch(
          '([%w_, ]+) = ffi%.new%("([%w_]+) ?%[(%d+)%]"') do
        local name = names:gsub("local ", ""):match("[%w_]+")
        local sum = text:find("[^%w_.:]" .. name .. " %+ %a")
        if sum and ffi.sizeof(ffi.typeof(("%s[%s]"):format(kind, n))) <= SMALL then
          wrong[#wrong + 1] = ("%s: %s"):format(path, name)
        end
      end
    end
    assert.equal("", table.concat(wrong, "\n"))
  end)
end)
