-- SPDX-License-Identifier: Apache-2.0

local testing = require("testing.support")

local CLEAN = "\nThe packet path is clean.\n$"

-- What it says of a program, and its status. It looks for longer if that isn't clean:
-- on a busy machine it has seen hardly anything, and what is common seems rare.
local function doctor(...)
  local said, status
  for _, seconds in ipairs{"1.5", "8", "30"} do
    said, status = testing.perigee{"doctor", "--duration", seconds, ...}
    if said:find(CLEAN) then break end
  end
  return said, status
end

-- From null to null through an app that does `body` with each packet `p`; for longer if
-- what is said doesn't match yet: on a busy machine it has run hardly any.
local function examine(body, pattern)
  local script = ([[
    local regions = require("testing.regions")
    local Slow = {names = {a = 1, b = 2}}
    function Slow:new() return setmetatable({}, {__index = Slow}) end
    function Slow:push()
      local input, output = self.input.input, self.output.output
      for _ = 1, link.nreadable(input) do
        local p = link.receive(input)
        %s
        link.transmit(output, p)
      end
    end
    regions.on_null("slow", Slow)
    engine.main{}]]):format(body)
  local said, status
  for _, seconds in ipairs{"1.5", "8", "30"} do
    said, status = testing.script(script, {"doctor", "--duration", seconds})
    if said:find(pattern) then break end
  end
  return said, status
end

describe("doctor", function ()
  it("finds the programs of Perigee clean #slow", function ()
    for _, program in ipairs{
      {"echo", "null", "0"}, {"echo", "null", "10"},
      {"packetblaster", "synth", "null"}, {"capture", "null", "/dev/null"},
    } do
      local said, status = doctor(unpack(program))
      assert.matches(CLEAN, said)
      -- Before it is what a program says every 10 seconds, where it takes that long.
      assert.matches("\njit: %d+ traces, 0 flushes, ", "\n" .. said)
      assert.matches("\n  [^\n]+ +[%d.]+ %% +[19][%d.]+ %% ", said)
      assert.equal(0, status)
    end
  end)

  it("finds replay clean, at top speed and at a rate #slow", function ()
    local file = os.tmpname()
    assert.equal(0, select(2, testing.perigee{"capture", "null:size=200", file,
      "--limit", "20000"}))
    for _, speed in ipairs{{"--topspeed"}, {"--rate", "500kpps"}} do
      local said, status = doctor("replay", file, "null", "--loop", "0", unpack(speed))
      assert.matches(CLEAN, said)
      assert.equal(0, status)
    end
    os.remove(file)
  end)

  it("names file, line, source and remedy of what isn't compiled #slow", function ()
    local said, status = examine(
      "self.last = string.gsub('abc', 'b', function (x) return x end)", "blacklisted")
    assert.equal(1, status)
    assert.matches("\n/tmp/[^\n]*:8: NYI: bytecode FNEW\n"
      .. "    self.last = string.gsub%('abc'[^\n]*\n  app: slow\n"
      .. "  in the region of slow\n  seen %d+ times?\n", said)
    assert.matches("\n  remedy: a function is made here", said)
    assert.matches("\n  interpreted from now on %(blacklisted%): [^/]*/tmp/", said)
    assert.matches("\nThe packet path is not clean: %d+ lines? %a+ to blame.\n$", said)
  end)

  it("names what a trace is left for #slow", function ()
    local said, status = examine("self.last = os.time()", "os%.time isn't")
    assert.equal(1, status)
    assert.matches(":8: os.time isn't compiled\n", said)
  end)

  it("examines a program to its own end", function ()
    local said, status = testing.script("engine.main{duration = 0.01}",
      {"doctor", "--duration", "50"})
    assert.matches("The program ended before it could be profiled.", said)
    assert.matches("that isn't enough to call the packet path clean: ", said)
    assert.equal(1, status)
    said, status = testing.script("engine.main{duration = 0.01} main.exit(3)",
      {"doctor", "--duration", "50"})
    assert.equal("", said)
    assert.equal(3, status)
    said, status = testing.script(
      "for i = 1, 1e9 do engine.main{done = function () return true end} end",
      {"doctor", "--duration", "0.1"})
    assert.matches("The packet path is clean.", said)
    assert.equal(0, status)
  end)

  it("says that it was interrupted, and doesn't say clean", function ()
    local code = [[
      local basic = require("apps.basic.basic_apps")
      local c = config.new()
      config.app(c, "source", basic.Source)
      config.app(c, "sink", basic.Sink)
      config.link(c, "source.output -> sink.input")
      engine.configure(c)
      os.execute("(sleep 0.2; kill -INT $PPID) &")
      engine.main{}]]
    local said, status = testing.script(code, {"doctor", "--duration", "50"})
    assert.matches("The examination was interrupted by SIGINT after %d+%.%d of 50 "
      .. "seconds: what follows is of that time only.", said)
    assert.matches("Nothing was found so far.", said)
    assert.not_matches("clean", said)
    assert.equal(130, status)
  end)

  it("tells what is wrong with its command line", function ()
    for _, case in ipairs{
      {{}, "such as perigee doctor echo null 10"},
      {{"nosuch"}, "there is no program 'nosuch'"},
      {{"--duration", "x", "echo"}, "duration: 'x' isn't a duration"},
    } do
      local said, status = testing.perigee{"doctor", unpack(case[1])}
      assert.matches(case[2], said, 1, true)
      assert.equal(2, status)
    end
    local said, status = testing.script("", {"doctor"})
    assert.matches("ended without starting the engine", said)
    assert.equal(1, status)
  end)
end)
