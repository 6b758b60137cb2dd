-- SPDX-License-Identifier: Apache-2.0
-- Functions of Lua's that scripts of libmoon's get others for, beside the originals: in
-- the master, in a task, and where Snabb's programs would have others, too.

local fresh_state = require("testing.fresh_state")
local testing = require("testing.support")

local PATH = testing.folder .. "/testing/lua_functions.lua"
local SCRIPT = ([[
local functions = dofile("%s")
local function show()
  return table.concat(functions.lines{"lua", "lua51", "ffi"}, "\n") .. "\n"
    .. table.concat(functions.replaced(), " ") .. "\n"
end
function master()
  io.stdout:write(show(), "---\n")
  local moongen = require("moongen")
  io.stdout:write(moongen.startTask("show_it"):wait())
end
function show_it() return show() end
]]):format(PATH)

describe("Lua's functions, for scripts of libmoon's #slow", function ()
  local name = os.tmpname()

  setup(function ()
    local file = assert(io.open(name, "w"))
    file:write(SCRIPT)
    file:close()
  end)

  teardown(function () os.remove(name) end)

  local expected = fresh_state(([[
    local functions = dofile("%s")
    return table.concat(functions.lines{"lua", "lua51", "ffi"}, "\n")]]):format(PATH))
    .. "\nffi.alignof ffi.cast ffi.cdef ffi.copy ffi.fill ffi.istype ffi.load "
    .. "ffi.metatype ffi.new ffi.offsetof ffi.sizeof ffi.typeof ipairs os.exit "
    .. "string.split"

  local OPTIONS_FOR = {["do what LuaJIT's do"] = {},
    ["do so with options of Snabb's"] = {"-p", testing.folder}}
  for what, options in pairs(OPTIONS_FOR) do
    it(what, function ()
      local words = {}
      for _, word in ipairs(options) do words[#words + 1] = word end
      for _, word in ipairs{"--eal", "--no-huge", "moongen", name} do
        words[#words + 1] = word
      end
      local said, status = testing.perigee(words)
      assert.equal(0, status, said)
      said = said:gsub("%[INFO%][^\n]*\n", ""):gsub(" table%.pack\n", "\n")
      local master, task = said:match("^(.-)\n%-%-%-\n(.*)\n$")
      assert.equal(expected, master)
      assert.equal(expected, task)
    end)
  end
end)
