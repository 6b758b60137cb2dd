-- SPDX-License-Identifier: Apache-2.0
-- What programs of Snabb's find next to their modules: the globals that core.main sets
-- there, options to bring trees of Snabb's layout, and types in shared memory.

local failure = require("core.failure")
local link_order = require("core.link_order")
local luajit = require("core.luajit")
local main = require("core.main")

local GLOBALS = {
  config = "core.config", engine = "core.app", memory = "core.memory",
  link = "core.link", packet = "core.packet", timer = "core.timer",
  timeline = "core.timeline",
}

-- Snabb's assert() makes text of messages that aren't.
local function stringify_messages()
  local plain_assert = assert
  rawset(_G, "assert", function (...)
    local value, message = ...
    if value then return ... end
    if select("#", ...) == 0 then
      luajit.fail("bad argument #1 to '?' (value expected)")
    end
    if message == nil then return plain_assert(value) end
    if not failure.is(message) then message = tostring(message) end
    return plain_assert(value, message)
  end)
end

-- Upstream's C declarations, which Perigee's modules have made.
local DECLARED = {
  core_counter_h = "core.counter", core_link_h = "core.link",
  core_packet_h = "core.packet",
}

local function declarations()
  for symbol, module in pairs(DECLARED) do
    package.preload[symbol:gsub("_", ".", 1)] = function () require(module) end
  end
end

-- As Snabb's own `main.version`, which programs call.
local function print_version() print("perigee " .. main.release) end

local before_2017 = false -- the tree's packets

local function globals()
  if before_2017 then require("core.shift_in_place").begin() end
  for name, module in pairs(GLOBALS) do rawset(_G, name, require(module)) end
  rawset(_G, "main", main)
  main.version = print_version
  rawset(_G, "developer_debug", os.getenv("SNABB_DEBUG") ~= nil)
  require("core.engine_fields").attach(require("core.app"))
  require("core.engine.settings").lifter = "core.lift.lift"
  require("lib.lua.class") -- the global subClass
  require("core.clib_h")
  require("core.lib_h")
  declarations()
  stringify_messages()
  require("lib.lua.strict").enable()
  local both = package.loaded["core.both"] -- if a tree was given
  if both then
    require("lib.former").attach(require("core.lib"), require("core.packet"))
    both.settle()
  end
end

local function has(dir, file)
  return require("posix.unistd").access(dir .. "/" .. file) ~= nil
end

-- Other trees may have a core/app.lua of their own.
local function is_checkout(dir)
  return has(dir, "core/app.lua") and has(dir, "program/snsh")
end

local function add_tree(dir)
  if not require("posix.sys.stat").stat(dir) then
    failure.usage("-p %s: there is no such directory", dir)
  end
  for _, src in ipairs{dir, dir .. "/src"} do
    if is_checkout(src) then
      failure.usage("-p %s: it is a whole checkout of Snabb; use --snabb %s, or give "
        .. "the folder of your own programs", dir, src)
    end
  end
  package.path = dir .. "/?.lua;" .. package.path
  local search = require("core.tree").searcher(dir)
  table.insert(package.loaders, 2, search)
  table.insert(package.loaders, 2, require("core.both").find_ours)
  require("core.both").add("-p", dir, search)
  require("core.lua52").provide()
  link_order.like_snabb()
  main.add_tree(dir, true)
end

local function add_upstream(dir)
  local upstream = require("core.upstream")
  local search = upstream.add(dir)
  dir = upstream.dir
  require("core.both").add("--snabb", dir, search, true)
  link_order.like_snabb()
  local text = require("core.tree").contents(dir .. "/core/packet.lua")
  before_2017 = require("core.shift_in_place").is_meant(text)
  main.add_tree(dir)
end

return {
  title = "Programs and modules of Snabb's",
  globals = globals,
  types = {
    gauge = "lib.gauge", interlink = "lib.interlink",
    freelist = "core.process_freelist", group_freelist = "core.group_freelist_view",
  },
  options = {
    {"-p", value = "DIR", take = add_tree,
      help = {"look for programs and modules in DIR first",
              "(DIR/program/NAME/NAME.lua, DIR/apps/..., as in Snabb)"}},
    {"--snabb", value = "DIR", take = add_upstream, environment = "PERIGEE_SNABB",
      help = {"take programs and modules that are not in Perigee from",
              "DIR, the src folder of a Snabb checkout (or set",
              "PERIGEE_SNABB)"}},
    {"--prefer-tree", value = "MODULE", take = function (name)
        require("core.both").prefer(name)
      end,
      help = {"take MODULE (lib.x, apps.x, ...) from the tree given with",
              "--snabb, though Perigee has one"}},
  },
}
