-- SPDX-License-Identifier: Apache-2.0
-- Modules from the `src` folder of a Snabb checkout (core.tree), for those that Perigee
-- hasn't, and the checkout's selftests on Perigee's modules.

local failure = require("core.failure")
local lua52 = require("core.lua52")
local tree = require("core.tree")

local upstream = {}

--- The `src` folder given, once there is one.
upstream.dir = nil

local contents = tree.contents

-- C of Snabb's whose functions Perigee has.
local IN_PERIGEE = {
  ["checksum.c"] = true, ["lib.c"] = true, ["lpm4_248.c"] = true, ["lpm4_dxr.c"] = true,
  ["mac_table.c"] = true, ["memory.c"] = true, ["poll.c"] = true, ["shmem.c"] = true,
  ["snabbswitch.c"] = true, ["track_seq_no.c"] = true, ["vhost_user.c"] = true,
}

local PLACES = {"", "/../lib/ljsyscall", "/../lib/pflua/src", "/../lib/ljndpi"}

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

-- Selftests that compare clocks, or count what comes by a clock, fail wherever another
-- process has the CPU meanwhile. They get one whose time passes as it is read.
local BY_THE_CLOCK = {["lib.token_bucket"] = true, ["lib.tsc"] = true}
local STEP_NS = 10000

local function upvalue(f, wanted)
  for i = 1, 60 do -- at most
    local name, value = debug.getupvalue(f, i)
    if name == wanted then return value end
  end
end

-- Let the sources of lib.tsc be such a clock, for good; a function that reads it, in
-- nanoseconds.
local function simulate_clock()
  local ffi, sources = require("ffi"), upvalue(require("lib.tsc").new, "sources")
  local now = 0ULL
  local function read()
    now = now + STEP_NS
    return now
  end
  local ticks_per_ns = tonumber(sources.rdtsc.per_second()) / 1e9
  sources.system.stamp = read
  function sources.rdtsc.stamp()
    return ffi.cast("uint64_t", tonumber(read()) * ticks_per_ns)
  end
  return read
end

local function simulated_ffi()
  local ffi = stand_ins.ffi()
  ffi.C = setmetatable({get_time_ns = simulate_clock()}, {__index = require("ffi").C})
  return ffi
end

local function require_or_stand_in(name)
  if name:match("_h$") and not pcall(require, name) then return nothing end
  return (stand_ins[name] or require)(name)
end

-- The environment that the upstream file is loaded in: what it defines, then the
-- globals, then Perigee's module.
local function environment(module, name)
  local by_the_clock = BY_THE_CLOCK[name] and {ffi = simulated_ffi()} or {}
  local function find(wanted)
    return by_the_clock[wanted] or require_or_stand_in(wanted)
  end
  local env = {_NAME = name, require = find,
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
local ITS_OWN = {"program.lwaftr.lwaftr", "program.config.config",
  "program.alarms.alarms"}

local function give_its_own(search)
  for _, name in ipairs(ITS_OWN) do
    package.preload[name] = function (...) return search(name)(...) end
  end
end

--- Let modules come from `dir`, a Snabb checkout or its `src`, where Perigee has
--- none of the name: Perigee's come first. Its `syscall` and `pf` are in its `lib`.
--- Returns the searcher of `src` (package.loaders).
function upstream.add(dir)
  local engine = "/core/app.lua"
  if not contents(dir .. engine) then
    if not contents(dir .. "/src" .. engine) then
      failure.usage("--snabb %s: there is no core/app.lua in it; give a Snabb checkout "
        .. "or its src folder", dir)
    end
    dir = dir .. "/src"
  end
  if contents(dir .. "/command_line.lua") then
    failure.usage("--snabb %s: that is Perigee's own tree; give one of Snabb's", dir)
  end
  upstream.dir = dir
  require("core.main").mimic_snabb()
  for _, place in ipairs(PLACES) do
    table.insert(package.loaders, tree.searcher(dir .. place, IN_PERIGEE))
  end
  local search = package.loaders[#package.loaders - #PLACES + 1]
  give_its_own(search)
  lua52.provide()
  provide_jit()
  provide_selftests()
  pcall(require, "syscall") -- its C types are meant to be the first of their names
  return search
end

return upstream
