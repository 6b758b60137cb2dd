-- SPDX-License-Identifier: Apache-2.0
local bytes = require("click.classification.bytes")

local function errors_of(...)
  local errors = {}
  bytes.program({...}, {
    error = function (_, fmt, ...) errors[#errors + 1] = fmt:format(...) end,
  })
  return errors
end

describe("a pattern of bytes", function ()
  it("may have parts, negations, masks, and digits that don't matter", function ()
    local program = bytes.program({"12/0806 20/0001", "!0/1?%f0", "-"}, {})
    assert.equal([[
 0  12/08060000%ffff0000  yes->step 1  no->step 2
 1  20/00010000%ffff0000  yes->[0]  no->step 2
 2   0/10000000%f0000000  yes->[2]  no->[1]
safe length 22
alignment offset 0
]], program:text())
  end)

  it("is refused in Click's words", function ()
    assert.same({"pattern 0: expected a digit"}, errors_of("x"))
    assert.same({"pattern 1: expected '/'"}, errors_of("-", "12"))
    assert.same({"pattern 0: value has less than 2 hex digits"}, errors_of("12/8"))
    assert.same({"pattern 0: value has odd number of hex digits"}, errors_of("12/080"))
    assert.same({"pattern 0: mask has too many hex digits"}, errors_of("1/08%ffff"))
    assert.same({"pattern 0: mask has too few hex digits"}, errors_of("1/0806%ff"))
    assert.same({"pattern 0: offset 70000 out of range, 0-65531"},
      errors_of("70000/00"))
  end)

  it("that nothing matches leaves its output unused", function ()
    local program = bytes.program({"0/01", "0/01", "-"}, {})
    assert.same({1}, program:unused_outputs(3))
  end)
end)
