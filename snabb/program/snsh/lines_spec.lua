-- SPDX-License-Identifier: Apache-2.0
local lines = require("program.snsh.lines")

describe("lines of the shell", function ()
  it("complete names of globals, and of tables in them", function ()
    assert.same({"engine.configure", "engine.configure_anew"},
      {unpack(lines.completions("engine.configure"), 1, 2)})
    assert.same({"string.format"}, lines.completions("string.form"))
    assert.same({}, lines.completions("nothing.here"))
    assert.same({}, lines.completions("print.x"))
    assert.is_true(#lines.completions("") > 10)
  end)
end)
