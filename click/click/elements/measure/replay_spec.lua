-- SPDX-License-Identifier: Apache-2.0
local click_router = require("testing.click_router")
local element = require("click.element")
local note = require("click.note")
local packet = require("core.packet")

-- A source, to be pulled from, of a packet for each word "TEXT@SECONDS".
local Timed = element.define{
  name = "Timed", ports = "0/1", processing = "/l",
  arguments = {{"PACKETS", "argument"}},
}

function Timed:configure(a)
  self.words = {}
  for word in a.PACKETS:gmatch("%S+") do table.insert(self.words, word) end
end

function Timed:pull()
  local word = table.remove(self.words, 1)
  if not word then return nil end
  local text, seconds = word:match("^(.*)@(.*)$")
  local p = packet.from_string(text)
  note.clear(p)
  note.set_time(p, tonumber(seconds))
  return p
end

local function run(text, options)
  options = options or {}
  options.classes = {Timed}
  local r = click_router.run(text .. "; DriverManager(pause)", options)
  return table.concat(r.caught, " "), r
end

describe("ReplayUnqueue", function ()

  it("gives what it has loaded so many times", function ()
    local text, r = run("Timed(a@1 b@2 c@3) -> r :: ReplayUnqueue(STOP 2) -> Catch")
    assert.equal("a b c a b c", text)
    assert.equal("0", r:handler_read("r.stop"))
    assert.same({"Loading r with 1 inputs.",
      "r : Successfully loaded 3 packets. Input 0 dried out."}, r.said)
  end)

  it("gives the packets themselves the last time, if that is wanted", function ()
    local text = run("Timed(a@1 b@2 c@3) -> ReplayUnqueue(STOP 2, FREEONTERMINATE"
      .. " false, BURST 2) -> Catch")
    assert.equal("a b c a b c", text)
  end)

  it("loads no more than LIMIT packets", function ()
    assert.equal("a b", (run("Timed(a@1 b@2 c@3) -> ReplayUnqueue(STOP 1, LIMIT 2)"
      .. " -> Catch")))
  end)

  it("keeps to their times, slower or faster", function ()
    local times = {}
    run("Timed(a@5 b@5.001 c@5.004) -> ReplayUnqueue(STOP 2, TIMING 200) -> Catch",
      {look = function (_, catch) times[#times + 1] = catch.router:now() end})
    local expected = {0, 0.0005, 0.002, 0.002, 0.0025, 0.004}
    for i, time in ipairs(expected) do
      assert.is_true(math.abs(times[i] - times[1] - time) < 20e-6, i)
    end
    assert.equal(6, #times)
  end)

  it("changes its speed by a function", function ()
    local times = {}
    run("Timed(a@0 b@1 c@2 d@3) -> ReplayUnqueue(STOP 1, TIMING 100,"
      .. " TIMING_FNT \"100 + 100 * min(1, floor(x))\") -> Catch",
      {look = function (_, catch) times[#times + 1] = catch.router:now() end})
    assert.equal(4, #times)
    assert.is_true(math.abs(times[2] - times[1] - 1) < 0.01)
    assert.is_true(math.abs(times[3] - times[2] - 0.5) < 0.01)
    assert.is_true(math.abs(times[4] - times[3] - 0.5) < 0.01)
  end)

  it("ends after STOP_TIME", function ()
    local text = run("Timed(a@0 b@1) -> ReplayUnqueue(STOP_TIME 5, TIMING 100)"
      .. " -> Catch", {seconds = 60})
    assert.is_true(#text >= 9 and #text <= 25)
  end)

  it("begins when it is made active", function ()
    local text = run("Timed(a@0 b@1) -> r :: ReplayUnqueue(STOP 1, ACTIVE false)"
      .. " -> Catch; Script(wait 1, write r.active true)")
    assert.equal("a b", text)
  end)

  it("says what it can't understand", function ()
    local _, problem = click_router.make(
      "Timed(a@0) -> ReplayUnqueue(TIMING_FNT 'os.exit()') -> Catch",
      {classes = {Timed}})
    assert.truthy(problem:find("TIMING_FNT: can't understand 'os.exit()'", 1, true))
  end)
end)

describe("MultiReplayUnqueue", function ()
  it("puts packets in the order of their times, and back to their outputs", function ()
    local came = {}
    run("Timed(a@1 b@4 z@9) -> [0] m :: MultiReplayUnqueue(STOP 1) -> c0 :: Catch;"
      .. " Timed(c@2 d@3) -> [1] m [1] -> c1 :: Catch",
      {look = function (p, catch)
        came[#came + 1] = catch.name .. string.char(p.data[0])
      end})
    assert.same({"c0a", "c1c", "c1d"}, came)
  end)
end)

describe("Replay", function ()
  it("is pulled from", function ()
    assert.equal("a b a b", (run("Timed(a@1 b@2) -> Replay(STOP 2) -> Unqueue"
      .. " -> Catch")))
  end)

  it("has several outputs as MultiReplay, which wait for each other", function ()
    local came = {}
    run("m :: MultiReplay(2, STOP 2); Timed(a@1 b@4) -> [0] m -> Unqueue"
      .. " -> c0 :: Catch; Timed(c@2 d@3 e@5) -> [1] m [1] -> Unqueue -> c1 :: Catch",
      {look = function (p, catch)
        came[catch.name] = (came[catch.name] or "") .. string.char(p.data[0])
      end})
    assert.equal("abab", came.c0)
    assert.equal("cdcd", came.c1)
  end)
end)
