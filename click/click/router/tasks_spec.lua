-- SPDX-License-Identifier: Apache-2.0
local tasks = require("click.router.tasks")

local function never() return false end

describe("click.router.tasks", function ()
  it("calls those that are scheduled in turns", function ()
    local list, got = tasks.new(), ""
    for _, name in ipairs{"a", "b", "c"} do
      list:make(name, function (n) got = got .. n; return true end):schedule()
    end
    assert.is_true(list:run(7, never))
    assert.equal("abcabca", got)
  end)

  it("lets them unschedule themselves, and each other", function ()
    local list, got, a, b = tasks.new(), "", nil, nil
    a = list:make(nil, function ()
      got = got .. "a"
      b:schedule()
      a:unschedule()
      return true
    end)
    b = list:make(nil, function ()
      got = got .. "b"
      a:schedule()
      b:unschedule()
      return true
    end)
    a:schedule()
    list:run(4, never)
    assert.equal("abab", got)
    assert.is_true(list:active())
    list:clear()
    assert.is_false(list:active())
    assert.is_false(a:scheduled())
  end)

  it("gives more turns to those with more tickets", function ()
    local list, count = tasks.new(), {a = 0, b = 0}
    local function work(n) count[n] = count[n] + 1; return true end
    local a, b = list:make("a", work), list:make("b", work)
    a:set_tickets(3072)
    a:schedule()
    b:schedule()
    list:run(400, never)
    assert.is_true(math.abs(count.a - 300) <= 1 and count.a + count.b == 400)
    b:set_tickets(1e9)
    assert.equal(32768, b.tickets)
  end)

  it("stops when none has anything to do, or when told", function ()
    local list, n = tasks.new(), 0
    for _ = 1, 3 do
      list:make(nil, function () n = n + 1; return false end):schedule()
    end
    assert.is_false(list:run(100, never))
    assert.is_true(n <= 6)
    n = 0
    list:run(100, function () return n == 2 end)
    assert.equal(2, n)
  end)
end)
