-- SPDX-License-Identifier: Apache-2.0
-- What programs of Snabb's find beside their modules: the globals that core.main sets
-- there, options to bring trees of Snabb's layout, and types in shared memory.

local failure = require("core.failure")
local main = require("core.main")

local GLOBALS = {
  config = "core.config", engine = "core.app", memory = "core.memory",
  link = "core.link", packet = "core.packet", timer = "core.timer",
  timeline = "core.timeline",
}

-- Snabb's assert() makes text of messages that aren't.
local function stringify_messages()
  local plain_assert = assert
  rawset(_G, "assert", function (value, message, ...)
    if value then return value, message, ... end
    if message == nil then return plain_assert(value) end
    if type(message) ~= "string" and not failure.is(message) then
      message = tostring(message)
    end
    return plain_assert(value, message, ...)
  end)
end

local function globals()
  for name, module in pairs(GLOBALS) do rawset(_G, name, require(module)) end
  rawset(_G, "main", main)
  rawset(_G, "developer_debug", os.getenv("SNABB_DEBUG") ~= nil)
  require("core.engine_fields").attach(require("core.app"))
  require("lib.lua.class") -- the global subClass
  require("core.clib_h")
  require("core.lib_h")
  stringify_messages()
  require("lib.lua.strict").enable()
end

local function add_tree(dir)
  if not require("posix.sys.stat").stat(dir) then
    failure.usage("-p %s: there is no such directory", dir)
  end
  package.path = dir .. "/?.lua;" .. package.path
  main.add_tree(dir, true)
end

local function add_upstream(dir)
  require("core.upstream").add(dir)
  main.add_tree(dir)
end

return {
  globals = globals,
  types = {
    gauge = "lib.gauge", interlink = "lib.interlink",
    freelist = "core.process_freelist", group_freelist = "core.group_freelist_view",
  },
  options = {
    {"-p", value = "DIR", take = add_tree,
      help = {"look for programs and modules in DIR first",
              "(DIR/program/NAME/NAME.lua, DIR/apps/..., as in Snabb)"}},
    {"--snabb", value = "DIR", take = add_upstream,
      help = {"take programs and modules that are not in Perigee from",
              "DIR, the src folder of a Snabb checkout"}},
  },
}
