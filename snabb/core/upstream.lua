-- SPDX-License-Identifier: Apache-2.0
-- Modules from the `src` folder of a Snabb checkout, built or not, for those that
-- Perigee hasn't. Beside Lua files a checkout has C headers and texts that its
-- build turns into modules: here they become modules as they are loaded.

local failure = require("core.failure")
local lua52 = require("core.lua52")

local upstream = {}

--- The `src` folder given, once there is one.
upstream.dir = nil

local function contents(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read("*a")
  file:close()
  return text
end

-- How a file of this suffix becomes a module: its text and path -> a loader.
local function declare(text)
  return function () require("ffi").cdef(text) end
end

local function give(text)
  return function () return text end
end

local makers = {h = declare, inc = give, events = give, yang = give}

-- The text of `programs.inc`, which the build makes: a program's name a line.
local function list_programs()
  local names = {}
  for name in require("posix.dirent").files(upstream.dir .. "/program") do
    if not name:match("%.") then names[#names + 1] = name end
  end
  table.sort(names)
  return table.concat(names, "\n") .. "\n"
end

-- The file's text and its path. Where a module's name has "_" the file's may have "-":
-- the build of Snabb changes them.
local function read_module(path)
  local text = contents(path)
  if text then return text, path end
  local folder, file = path:match("^(.*/)(.*)$")
  path = folder .. file:gsub("_", "-")
  return contents(path), path
end

-- Modules whose results hang on the order of a table's keys (lib.yang.binary adds keys
-- to a table it goes through): theirs is a fixed one.
local ORDERED = {["lib.yang.schema"] = true, ["lib.yang.binary"] = true}
local ORDERED_PAIRS = "local pairs = require('core.ordered').pairs "

-- The text of the Lua module `name`, for a LuaJIT without Lua 5.2's metamethods.
local function adapt(name, text)
  text = lua52.lengths(text)
  return ORDERED[name] and ORDERED_PAIRS .. text or text
end

local places = {"", "/../lib/ljsyscall", "/../lib/pflua/src"}

-- For package.loaders: Lua files, which may rely on Lua 5.2's metamethods.
local function search_lua(name)
  local tried = {}
  for i, place in ipairs(places) do
    local path = ("%s%s/%s.lua"):format(upstream.dir, place, name:gsub("%.", "/"))
    local text, found = read_module(path)
    if text then
      local chunk, err = loadstring(adapt(name, text), "@" .. found)
      return chunk or error(err, 0)
    end
    tried[i] = ("\n\tno file '%s'"):format(path)
  end
  return table.concat(tried)
end

-- For package.loaders: files of other kinds.
local function search_other(name)
  local stem, suffix = name:match("^(.*)[_.](%l+)$") -- also "lib.virtio.virtio.h"
  local maker = makers[suffix]
  if not maker then return nil end
  if name == "programs_inc" then return give(list_programs()) end
  local path = ("%s/%s.%s"):format(upstream.dir, stem:gsub("%.", "/"), suffix)
  local text = read_module(path)
  if not text then return ("\n\tno file '%s'"):format(path) end
  return maker(text)
end

-- Snabb's modules are globals too: code of it says core.app.now, without require.
local function provide_core()
  rawset(_G, "core", setmetatable({}, {
    __index = function (_, name) return package.loaded["core." .. name] end,
  }))
end

-- pflua compiles filters to Lua or, with DynASM, to machine code. Here they become Lua
-- in any case, which LuaJIT compiles.
package.preload["pf.codegen"] = function ()
  local backend = require("pf.backend")
  return {load = function (expression, want_source)
    if want_source then return backend.emit_lua(expression) end
    return backend.emit_and_load(expression, "native")
  end}
end

-- What only Snabb's own LuaJIT has.
local function provide_jit()
  local function nothing_to_do() end
  rawset(jit, "vmprofile", {open = nothing_to_do, close = nothing_to_do,
    start = nothing_to_do, stop = nothing_to_do, select = nothing_to_do})
  rawset(jit, "auditlog", nothing_to_do)
end

-- Selftests -----------------------------------------------------------------

-- Stands for what can't be had: any field of it, and any call, is itself.
local nothing = setmetatable({}, {
  __index = function (self) return self end,
  __call = function (self) return self end,
})

-- What the upstream file gets from require: its C declarations and shared memory
-- types are there already, from Perigee's module; its machine code isn't made.
local stand_ins = {
  dasm = function () return nothing end,
  dynasm = function () return nothing end,
  ["lib.pmu_x86"] = function () return {ncounters = 0, cpu_model = "unknown"} end,
  ffi = function ()
    local ffi = require("ffi")
    return setmetatable({
      cdef = function (text) pcall(ffi.cdef, text) end,
      metatype = function (name, meta)
        local ok, ctype = pcall(ffi.metatype, name, meta)
        return ok and ctype or ffi.typeof(name)
      end,
      cast = function (ctype, value)
        if value == nothing then return nothing end
        return ffi.cast(ctype, value)
      end,
    }, {__index = ffi})
  end,
  ["core.shm"] = function ()
    return setmetatable({register = function () end}, {__index = require("core.shm")})
  end,
}

local function require_or_stand_in(name)
  if name:match("_h$") and not pcall(require, name) then return nothing end
  return (stand_ins[name] or require)(name)
end

-- The environment that the upstream file is loaded in: what it defines, then the
-- globals, then Perigee's module.
local function environment(module, name)
  local env = {_NAME = name, require = require_or_stand_in,
    package = setmetatable({}, {__index = package}), -- core.main empties package.path
    actions = nothing, globalnames = {}} -- DynASM's
  env._M = env
  env.module = function () end
  return setmetatable(env, {__index = function (_, key)
    local global = rawget(_G, key)
    if global ~= nil then return global end
    return module[key]
  end})
end

-- Let Perigee's module have its way where the upstream file defined the same.
local function give_way(env, module)
  local shared = {}
  for key in pairs(env) do shared[key] = module[key] ~= nil or nil end
  for key in pairs(shared) do env[key] = nil end
  local meta = getmetatable(env)
  local index = meta.__index
  function meta.__index(_, key)
    if shared[key] then return module[key] end
    return index(env, key)
  end
  function meta.__newindex(_, key, value)
    rawset(shared[key] and module or env, key, value)
  end
end

-- Let Perigee's module be what the functions of the upstream file know as `returned`.
local function replace_returned(selftest, returned, module)
  if type(returned) ~= "table" then return end
  for i = 1, 60 do -- upvalues at most
    local name, value = debug.getupvalue(selftest, i)
    if not name then break end
    if value == returned then debug.setupvalue(selftest, i, module) end
  end
end

-- The text of the checkout's file for the module, without DynASM's lines.
local function source_of(name)
  local stem = ("%s/%s"):format(upstream.dir or "", name:gsub("%.", "/"))
  local text = contents(stem .. ".lua")
  if text then return text, stem .. ".lua" end
  text = contents(stem .. ".dasl")
  if text then
    return ("\n" .. text):gsub("\n%s*|[^\n]*", "\n"):sub(2), stem .. ".dasl"
  end
end

-- What the upstream file, which is loaded, defines, working on Perigee's `module` where
-- that has the same; nil if it has no selftest().
local function functions_on(module, name)
  local text, path = source_of(name)
  if not (text and text:find("\nfunction [%w:]*selftest *%p")) then return nil end
  if name == "core.main" then -- which then forks, and runs a program
    text = text:match("^.-\nfunction selftest.-\nend\n")
  end
  local chunk = assert(loadstring(lua52.lengths(text), "@" .. path))
  local env = environment(module, name)
  local returned = setfenv(chunk, env)(name)
  give_way(env, module)
  if not rawget(env, "selftest") then -- as lib.lpm.ip4: it's of what the file returns
    env.selftest = type(returned) == "table" and returned.selftest or nil
  end
  if rawget(env, "selftest") then replace_returned(env.selftest, returned, module) end
  return env
end

--- The selftest() that the checkout has for the module `name`, working on
--- Perigee's module of that name: what the upstream file defines gives way to what
--- Perigee's has. Nil if the checkout has none.
function upstream.selftest(name)
  local env = functions_on(require(name), name)
  return env and rawget(env, "selftest")
end

-- Tests of the checkout in files of their own call selftest_...() of this module.
local TESTED_FROM_OUTSIDE = "apps.xdp.xdp"

local function provide_selftests()
  local module, env = require(TESTED_FROM_OUTSIDE), nil
  setmetatable(module, {__index = function (_, key)
    if type(key) ~= "string" or not key:match("^selftest_") then return nil end
    if not env then
      env = {} -- while it is loaded, which asks for such functions too
      env = functions_on(module, TESTED_FROM_OUTSIDE) or env
    end
    return rawget(env, key)
  end})
end

-- Programs that Perigee has in another form: with a checkout, its own are meant.
local ITS_OWN = {"program.lwaftr.lwaftr", "program.config.config"}

local function give_its_own()
  for _, name in ipairs(ITS_OWN) do
    package.preload[name] = function (...) return search_lua(name)(...) end
  end
end

--- Let modules come from `dir`, the `src` of a Snabb checkout, where Perigee has
--- none of the name: Perigee's come first. Its `syscall` and `pf` are in
--- `dir`/../lib.
function upstream.add(dir)
  if not contents(dir .. "/core/app.lua") then
    failure.usage("--snabb %s: there is no core/app.lua in it; give the src folder "
      .. "of a Snabb checkout", dir)
  end
  upstream.dir = dir
  require("core.main").mimic_snabb()
  give_its_own()
  table.insert(package.loaders, search_lua)
  table.insert(package.loaders, search_other)
  lua52.provide()
  provide_core()
  provide_jit()
  provide_selftests()
  pcall(require, "syscall") -- its C types are meant to be the first of their names
end

return upstream
