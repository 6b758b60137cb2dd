-- SPDX-License-Identifier: Apache-2.0

local remedies = require("program.doctor.remedies")
local vmdef = require("jit.vmdef")

describe("remedies", function ()
  local unknown = remedies.of("nothing LuaJIT ever says")

  it("know what LuaJIT says about code", function ()
    local rest = {}
    for _, reason in pairs(vmdef.traceerr) do
      reason = reason:gsub("bytecode %%[ds]", "bytecode FNEW") -- %s: since 2024
      if remedies.of(reason) == unknown then rest[#rest + 1] = reason end
    end
    table.sort(rest)
    -- What can't be helped, or helps itself.
    assert.same({"NYI: PHI shuffling too complex",
      "NYI: cannot assemble IR instruction %d", "NYI: register coalescing too complex",
      "error thrown or hook called during recording",
      "hit mcode limit (retrying)", "inconsistent register allocation",
      "retry recording", "symbol not in cache", "trace too short"}, rest)
  end)

  it("know bytecodes", function ()
    assert.matches("a function is made here", remedies.of("NYI: bytecode FNEW"))
    assert.matches("this operation isn't compiled", remedies.of("NYI: bytecode KNIL"))
  end)
end)
