-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local cpu_switches = require("click.threads.cpu_switches")
local division = require("click.threads.division")
local passing = require("click.threads.passing")

describe("The output of a thread at a switch", function ()
  it("is its number, or its place among the threads that come", function ()
    local function outputs(class)
      local list = {}
      for thread = 0, 5 do
        list[#list + 1] = cpu_switches.output(class, 3, {0, 2, 3, 5}, thread) or "-"
      end
      return table.concat(list, " ")
    end
    assert.equal("0 1 2 0 1 2", outputs("CPUSwitch"))
    assert.equal("0 - 1 2 - 0", outputs("ExactCPUSwitch"))
    assert.is_false(cpu_switches.is("PaintSwitch"))
  end)
end)

-- What leads where: "a-x b-y".
local function shown(flat)
  local list = {}
  for _, c in ipairs(flat.connections) do
    list[#list + 1] = ("%s-%s"):format(flat.elements[c.from].name,
      flat.elements[c.to].name)
  end
  table.sort(list)
  return table.concat(list, " ")
end

local function divided(text)
  local router = assert(click.router(text))
  router:close()
  local threads, _, notes, lists = division.of(router)
  return cpu_switches.bypass(router.flat, threads, lists), notes, lists, threads
end

describe("A switch in a router over several threads", function ()
  local SOURCES = "a :: InfiniteSource -> s; b :: InfiniteSource -> s;"
    .. "x :: Counter -> Discard; y :: Counter -> Discard;"

  it("is gone around by what comes from other threads than its own", function ()
    local flat, notes, lists, threads = divided("s :: CPUSwitch;" .. SOURCES
      .. "s[0] -> x; s[1] -> y; StaticThreadSched(a 0, b 1)")
    assert.truthy(shown(flat):find("a-s b-y s-x s-y", 1, true), shown(flat))
    assert.same({0, 1, {}}, {threads.x, threads.y, notes})
    assert.equal("0-1", passing.text(lists.s))
    assert.equal("0", passing.text(lists.x))
    assert.equal("1", passing.text(lists.y))
  end)

  it("is gone around one after the other", function ()
    local flat = divided("s :: CPUSwitch; t :: ExactCPUSwitch;" .. SOURCES
      .. "s[0] -> t; s[1] -> t; t[0] -> x; t[1] -> y; StaticThreadSched(a 3, b 8)")
    assert.truthy(shown(flat):find("a-s b-y", 1, true), shown(flat))
  end)

  it("gets the packets of what several threads share", function ()
    local flat, notes = divided("s :: CPUSwitch; n :: Null;"
      .. "a :: InfiniteSource -> n; b :: InfiniteSource -> n; n -> s;"
      .. "x :: Counter -> Discard; y :: Counter -> Discard;"
      .. "s[0] -> x; s[1] -> y; StaticThreadSched(a 0, b 1)")
    assert.truthy(shown(flat):find("n-s s-x s-y", 1, true), shown(flat))
    assert.equal(1, #notes)
  end)
end)

describe("The threads whose packets pass an element", function ()
  it("are those before it, up to what pulls", function ()
    local _, _, lists = divided("a :: InfiniteSource -> q :: Queue -> u :: Unqueue"
      .. " -> d :: Discard; b :: InfiniteSource -> c :: Counter -> q; i :: Idle -> e ::"
      .. " Discard; StaticThreadSched(a 4, b 5, u 2)")
    assert.equal("2,4-5", passing.text(lists.q)) -- who puts in, and who takes out
    assert.equal("5 2 2", ("%s %s %s"):format(passing.text(lists.c),
      passing.text(lists.u), passing.text(lists.d)))
    assert.equal("", passing.text(lists.e))
  end)

  it("are known of loops", function ()
    local _, _, lists = divided("a :: InfiniteSource -> t :: Tee(2);"
      .. "t[0] -> c :: Counter -> t; t[1] -> Discard; StaticThreadSched(a 1)")
    assert.equal("1", passing.text(lists.c))
  end)
end)
