-- SPDX-License-Identifier: Apache-2.0
local errors = require("click.errors")

describe("click.errors", function ()
  it("puts the place in front, and counts", function ()
    local e = errors.new()
    e:at("a.click:3"):error("undeclared element '%s'", "x")
    e:at("a.click:4"):warning("odd")
    e:error("all wrong")
    assert.equal("a.click:3: undeclared element 'x'\na.click:4: warning: odd\n"
      .. "all wrong\n", e:text())
    assert.equal(2, e.count)
    assert.equal(1, e.warnings)
  end)

  it("shows a heading once, with the first message below it", function ()
    local e = errors.new()
    local below = e:at("a:1"):context("While configuring '%s':", "p :: Paint")
    e:context("nothing:")
    assert.equal("", e:text())
    below:error("COLOR: parse error")
    below:error("two\nlines")
    assert.equal("a:1: While configuring 'p :: Paint':\n  COLOR: parse error\n"
      .. "  two\n  lines\n", e:text())
    assert.equal(2, below.count)
  end)

  it("gives a heading the place of the first message if it has none", function ()
    local e = errors.new()
    local below = e:context("candidates are:")
    below:at("b:2"):message("x")
    below:at("b:9"):message("y")
    assert.equal("b:2: candidates are:\nb:2:   x\nb:9:   y\n", e:text())
    assert.equal(0, e.count)
  end)

  it("passes lines on at once", function ()
    local got = {}
    errors.new(function (line) got[#got + 1] = line end):at("f:1"):error("100%% %d", 1)
    assert.same({"f:1: 100% 1"}, got)
  end)

  it("leaves arguments and apostrophes alone", function ()
    local e = errors.new()
    e:error("can't '%s' don't", "100% 'x'")
    assert.equal("can't '100% 'x'' don't\n", e:text())
    assert.equal("50% done", errors.format("50% done"))
  end)
end)
