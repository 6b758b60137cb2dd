-- SPDX-License-Identifier: Apache-2.0
local news = require("core.cpus.news")

describe("News of copies", function ()
  local a, b
  before_each(function () a, b = news.open("spec", 0), news.open("spec", 1) end)
  after_each(function ()
    a:close()
    b:close()
  end)

  it("come to the others, in order, once", function ()
    assert.is_false(b:waits())
    a:tell(7, 2 ^ 48 - 1)
    a:tell(8, 2)
    b:tell(9, 3)
    assert.is_true(b:waits())
    assert.same({7, 2 ^ 48 - 1}, {b:next()})
    assert.same({8, 2}, {b:next()})
    assert.is_nil(b:next())
    assert.is_false(b:waits())
    assert.same({9, 3}, {a:next()})
    assert.is_nil(a:next())
  end)

  it("don't come to who opens them later, nor under another name", function ()
    a:tell(1, 1)
    local c, d = news.open("spec", 2), news.open("another", 0)
    assert.is_nil(c:next())
    a:tell(2, 2)
    assert.same({2, 2}, {c:next()})
    assert.is_nil(d:next())
    c:close()
    d:close()
  end)

  it("leave the latest to who is slow", function ()
    for i = 1, 20000 do a:tell(i, i) end
    assert.same({20000 - 8192 + 1, 20000 - 8192 + 1}, {b:next()})
    local n, last = 1, nil
    for key in function () return b:next() end do n, last = n + 1, key end
    assert.same({8192, 20000}, {n, last})
  end)

  it("let one ask at a time", function ()
    assert.is_true(a:may_ask(5, 1000, 100))
    assert.is_false(b:may_ask(5, 1099, 100))
    assert.is_true(b:may_ask(6, 1099, 100))
    assert.is_true(b:may_ask(5, 1100, 100))
  end)
end)
