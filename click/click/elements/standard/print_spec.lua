-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

local function said(text, bytes)
  local unit = click.unit(text, {time = 7})
  unit:send(bytes)
  unit:free()
  return unit.said[1]
end

describe("Print", function ()
  it("prints bytes", function ()
    assert.equal("   5 | 61626364 65", said("Print", "abcde"))
    assert.equal("ok:    5 | 61626364 65", said("Print(ok)", "abcde"))
    assert.equal("ok:    5 | 6162", said("Print(ok, 2)", "abcde"))
    assert.equal("   5", said("Print(CONTENTS NONE)", "abcde"))
    assert.equal("   5", said("Print(MAXLENGTH 0)", "abcde"))
    assert.equal("  10 |  abcdefg. ij", said("Print(CONTENTS ASCII)", "abcdefg\1ij"))
    assert.equal("   0", said("Print", ""))
    assert.equal(("  40 | " .. ("61616161 "):rep(10)):sub(1, -2),
      said("Print(MAXLENGTH -1)", ("a"):rep(40)))
    assert.is_nil(said("Print(ACTIVE false)", "a"))
  end)

  it("prints what is noted", function ()
    assert.equal("0.000000:    1 | 61", said("Print(TIMESTAMP true)", "a"))
    assert.equal("   1 | " .. ("00"):rep(48) .. " | 61",
      said("Print(PRINTANNO true)", "a"))
    assert.matches("^   1 %(h%d+ t%d+%) | 61$", said("Print(HEADROOM true)", "a"))
    assert.same({"bad contents value 'X'; should be 'NONE', 'HEX', or 'ASCII'"},
      click.unit("Print(CONTENTS X)").errors)
  end)
end)

describe("Message and Error", function ()
  it("speak while the configuration is read", function ()
    local _, problems = click.router("Message(\"a b\"); Message(c, WARNING);"
      .. "Message(d, ERROR)")
    assert.equal("spec:1: While configuring 'Message@1 :: Message':\n  a b\n"
      .. "spec:1: While configuring 'Message@2 :: Message':\n  warning: c\n"
      .. "spec:1: While configuring 'Message@3 :: Message':\n  d\n"
      .. "Router could not be initialized!\n", problems)
    _, problems = click.router("Error(whatever, this, is)")
    assert.equal("Router could not be initialized!\n", problems)
  end)
end)
