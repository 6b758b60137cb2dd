-- SPDX-License-Identifier: Apache-2.0
local main = require("core.main")
local testing = require("testing.support")

-- The modules of programs that are loaded, in one line.
local function loaded_programs()
  local names = {}
  for name in pairs(package.loaded) do
    if name:find("^program%.") then names[#names + 1] = name end
  end
  table.sort(names)
  return table.concat(names, " ")
end

describe("main.programs", function ()
  it("loads none of them", function ()
    local before = loaded_programs()
    assert.is_true(#main.programs() > 30)
    assert.equal(before, loaded_programs())
  end)

  it("tells each by its module's summary", function ()
    for _, program in ipairs(main.programs()) do
      local module = require(main.find_program(program.name))
      assert.equal(module.summary, program.summary, program.name)
    end
  end)
end)

describe("an error", function ()
  it("of Lua files that are newer than the binary says what to do", function ()
    local said, status = testing.script([[
      local ffi = require("ffi")
      ffi.cdef("void pg_of_tomorrow(void);")
      ffi.C.pg_of_tomorrow()]])
    assert.equal(1, status)
    assert.equal("perigee: this binary is of another version than its Lua files, which "
      .. "call its pg_of_tomorrow; build it again with: make\n", said)
  end)
end)
