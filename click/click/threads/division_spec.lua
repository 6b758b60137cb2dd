-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local division = require("click.threads.division")

local function divide(text)
  local router = assert(click.router(text))
  local threads, numbers, notes = division.of(router)
  router:close()
  return threads, numbers, notes, router
end

-- Elements with their threads: "a0 b1".
local function shown(threads)
  local list = {}
  for name, thread in pairs(threads) do
    if not name:find("@") then list[#list + 1] = name .. thread end
  end
  table.sort(list)
  return table.concat(list, " ")
end

local QUEUE = "s :: InfiniteSource -> c :: Counter -> q :: Queue -> u :: Unqueue"
  .. " -> d :: Discard;"

describe("A router's division", function ()
  it("is none without StaticThreadSched", function ()
    local threads, numbers, notes = divide(QUEUE)
    assert.equal("c0 d0 q0 s0 u0", shown(threads))
    assert.same({{0}, {}}, {numbers, notes})
  end)

  it("lets queues be where they are pulled from", function ()
    local threads, numbers, notes =
      divide(QUEUE .. "StaticThreadSched(s 1, u 3); AddressInfo(a 1.0.0.1)")
    assert.equal("c1 d3 q3 s1 u3", shown(threads))
    assert.same({{1, 3}, {}}, {numbers, notes})
    assert.is_nil(threads["AddressInfo@7"])
  end)

  it("says what can't be divided", function ()
    local threads, _, notes = divide("q :: Queue; Idle -> q; q -> u :: Unqueue"
      .. "-> Discard; q -> v :: Unqueue -> Discard; StaticThreadSched(u 2, v 1)")
    assert.equal("q1 u1 v1", shown(threads))
    assert.same({"'u' and 'v' share a queue or a device: both run on thread 1"}, notes)
  end)

  it("lets what several threads send to run on one of them", function ()
    local threads, _, notes = divide("a :: InfiniteSource -> x :: Counter"
      .. "-> d :: Null -> Discard; b :: InfiniteSource -> y :: Counter -> d;"
      .. "StaticThreadSched(a 1, b 2)")
    assert.equal("a1 b2 d1 x1 y2", shown(threads))
    assert.same({"'d' gets packets of several threads: it runs on thread 1, with what "
      .. "is behind it"}, notes)
  end)

  it("says nothing of where packets end", function ()
    local threads, _, notes = divide("a :: InfiniteSource -> d :: Discard;"
      .. "b :: InfiniteSource -> d; StaticThreadSched(a 1, b 2)")
    assert.equal("a1 b2 d1", shown(threads))
    assert.same({}, notes)
  end)

  it("cuts at a Pipeliner that has a thread", function ()
    assert.equal("a0 c2 p2", shown((divide("a :: InfiniteSource -> p :: Pipeliner"
      .. " -> c :: Counter -> Discard; StaticThreadSched(p 2)"))))
  end)

  it("goes round loops", function ()
    assert.equal("a1 h1 t1", shown((divide("a :: InfiniteSource -> t :: Tee(2);"
      .. "t [0] -> h :: Counter -> t; t [1] -> Discard; StaticThreadSched(a 1)"))))
  end)
end)

describe("A part of a flat configuration", function ()
  local threads, _, _, router = divide(QUEUE .. "s2 :: InfiniteSource -> q;"
    .. "StaticThreadSched(s 1, u 3); i :: ScheduleInfo(s 2, u 3)")

  local function connections(number)
    local part = division.part(router.flat, threads, number, "In", "Out")
    local list = {}
    local function name(i) return part.elements[i].name end
    for _, c in ipairs(part.connections) do
      list[#list + 1] = ("%s[%d]-[%d]%s"):format(name(c.from), c.output, c.input,
        name(c.to))
    end
    table.sort(list)
    return table.concat(list, " "), part
  end

  it("has its own elements, and ends for what crosses", function ()
    local text, part = connections(1)
    assert.equal("c[0]-[0]output s[0]-[0]c", text)
    local names = {}
    for _, e in ipairs(part.elements) do names[e.name] = e.config end
    assert.equal("s 2", names.i) -- of its own elements only
    assert.is_nil(names.u)
    assert.truthy(names.output)
  end)

  it("agrees with the others on what crosses", function ()
    local crossings = {}
    division.crossings(router.flat, threads, function (from, output, to, input)
      crossings[#crossings + 1] = ("%d.%d-%d.%d"):format(from, output, to, input)
    end)
    table.sort(crossings)
    local whole = connections(3)
    assert.truthy(whole:find("q[0]-[0]u u[0]-[0]d", 1, true))
    assert.truthy(whole:find("input[0]-[0]q input[1]-[0]q", 1, true))
    assert.equal("s2[0]-[0]output", (connections(0)))
    assert.equal(2, #crossings)
    assert.equal("0.0-3.", crossings[1]:sub(1, 6))
    assert.equal("1.0-3.", crossings[2]:sub(1, 6))
  end)
end)
