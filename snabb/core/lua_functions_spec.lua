-- SPDX-License-Identifier: Apache-2.0
-- Functions of Lua's that Snabb's programs get others for, beside the originals: the
-- same number of results and arguments, nil between them, the same errors.

local fresh_state = require("testing.fresh_state")
local functions = require("testing.lua_functions")
local testing = require("testing.support")

-- Debian's releases after 13 build LuaJIT so.
local HAS_LUA52 = select("#", coroutine.running()) == 2
local REPLACED = HAS_LUA52 and "assert ffi.copy ffi.fill file:close file:write "
    .. "io.close io.write ipairs pairs string.split table.pack"
  or "assert coroutine.running ffi.copy ffi.fill file:close file:write io.close "
    .. "io.write ipairs os.execute pairs rawlen string.split table.pack"

local PATH = testing.folder .. "/testing/lua_functions.lua"
local PROGRAM = ([[
  local functions = dofile("%s")
  io.stdout:write(table.concat(functions.lines(main.parameters), "\n"), "\n",
    table.concat(functions.replaced(), " "), "\n")]]):format(PATH)

-- What a program says under these options of the calls in the groups, a list of lines;
-- and which functions are replaced.
local function lines_of(options, groups)
  local said, status = testing.script(PROGRAM, options, groups)
  assert.equal(0, status, said)
  local lines = {}
  for line in said:gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
  return lines, table.remove(lines)
end

-- The same of LuaJIT alone.
local function plain_lines(groups)
  local text = fresh_state(([[return table.concat(dofile("%s").lines{"%s"}, "\n")]])
    :format(PATH, table.concat(groups, '", "')))
  local lines = {}
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
  return lines
end

describe("Lua's functions, for programs of Snabb's form #slow", function ()
  it("do what LuaJIT's do", function ()
    local groups = {"lua"}
    local expected = plain_lines(groups)
    assert.is_true(#expected > 60)
    local lines, replaced = lines_of({}, groups)
    assert.same(expected, lines)
    assert.equal(REPLACED, replaced)
  end)

  it("do what those of Snabb's LuaJIT do, with -p", function ()
    local expected = {}
    for i, call in ipairs(functions.calls.lua52) do
      expected[i] = table.concat(call, " -> ")
    end
    assert.is_true(#expected > 50)
    assert.same(expected, (lines_of({}, {"lua52"})))
  end)

  it("are LuaJIT's own without -p, but for those that both have", function ()
    if HAS_LUA52 then pending("its io.write returns true where it is compiled") end
    local name = testing.temporary(PROGRAM)
    local said = testing.perigee{"snsh", name, "lua", "lua51"}
    os.remove(name)
    assert.equal(table.concat(plain_lines{"lua", "lua51"}, "\n")
      .. "\nassert ffi.copy ffi.fill string.split\n", said)
  end)
end)

describe("next and pairs that aren't compiled", function ()
  it("do what LuaJIT's do", function ()
    local luajit = require("core.luajit")
    local own_next, own_pairs = next, pairs
    rawset(_G, "next", luajit.interpreted_next)
    rawset(_G, "pairs", luajit.interpreted_pairs)
    local lines = functions.lines{"lua"}
    rawset(_G, "next", own_next)
    rawset(_G, "pairs", own_pairs)
    assert.same(plain_lines{"lua"}, lines)
  end)
end)
