-- SPDX-License-Identifier: Apache-2.0
local joined = require("program.click.joined")

describe("Handlers of copies", function ()
  local read, both = {read = print}, {read = print, write = print}

  it("are summed, follow each other, or are the same", function ()
    assert.equal("12", joined.text(read, "count", {"5", "7"}))
    assert.equal("0.75", joined.text(read, "rate", {"0.5", "0.25"}))
    assert.equal("a\nb\n", joined.text(read, "table", {"a\n", "b\n"}))
    assert.equal("on", joined.text(read, "state", {"on", "on"}))
    assert.equal("on\noff\n", joined.text(read, "state", {"on", "off"}))
    assert.equal("", joined.text(read, "state", {"", ""}))
    assert.equal("-0.5", joined.text(read, "balance", {"-1", "0.5"}))
    assert.equal("1", joined.text({read = print, param = true}, "lookup", {"1", "1"}))
    assert.equal("", joined.text(read, "table", {"", ""}))
    assert.equal("3", joined.text(both, "switch", {"3", "3"}))
    assert.equal("7", joined.text(read, "config", {"7", "7"}))
  end)

  it("may say how they are joined", function ()
    assert.equal("6", joined.text({write = print, join = "sum"}, "x", {"3", "3"}))
    assert.equal("1\n1\n", joined.text({join = "all"}, "x", {"1", "1\n"}))
    assert.equal("7", joined.text({join = "most"}, "x", {"-1", "7"}))
    assert.equal("1", joined.text({join = "first"}, "x", {"1", "1"}))
  end)
end)
