-- SPDX-License-Identifier: Apache-2.0
-- Each case is a process of its own: the JIT's state can't be had afresh in one.

local testing = require("testing.support")

-- A null port through the app "x", which does `body` with each packet `p` (line 6),
-- in process(p) if it is to be fused, or else in push(). Prints the problems.
local function events_of(body, fused, seconds)
  return testing.script(([[
    local regions = require("testing.regions")
    local health = require("core.watch.health")
    local X = {names = {a = 1, b = 2}, count = 0}
    function X:new() return setmetatable({}, {__index = X}) end
    local function work(self, p)
      %s
    end
    if %s then
      function X:process(p) work(self, p) return p end
    else
      function X:push()
        local i, o = self.input.input, self.output.output
        for _ = 1, link.nreadable(i) do
          local p = link.receive(i)
          work(self, p)
          link.transmit(o, p)
        end
      end
    end
    regions.on_null("x", X)
    engine.busywait = true
    local C = require("core.native")
    local ends = C.pg_cpu_seconds() + %g
    engine.main{done = function () return C.pg_cpu_seconds() > ends end,
      report = {showjit = true}}
    for _, e in ipairs(health.problems()) do
      print(("%%s|%%d|%%s|%%s|%%s"):format(e.kind, e.line, e.reason, tostring(e.app),
        tostring(e.region)))
    end]]):format(body, tostring(fused), seconds or 0.5))
end

describe("jit_health #slow", function ()
  it("finds nothing where all is compiled", function ()
    for _, fused in ipairs{true, false} do
      local said, status = events_of("self.count = self.count + p.length", fused)
      assert.equal("", said)
      assert.equal(0, status)
    end
  end)

  it("names app, line, reason and what was given up", function ()
    for _, fused in ipairs{true, false} do
      local said = events_of(
        "self.s = string.gsub('abc', 'b', function (x) return x end)", fused)
      -- work() or who calls it, whichever is hot first
      assert.matches("blacklisted|[59]|NYI: bytecode FNEW|x|", said)
      assert.equal(fused, said:find("region of x", 1, true) ~= nil)
      assert.matches("\n?jit: app 'x' is slowed down at /tmp/[^\n]*:6: NYI: bytecode "
        .. "FNEW[^\n]*; see `perigee doctor`\n", said)
    end
  end)

  it("names functions that traces are left for", function ()
    local said = events_of("self.s = os.time()", true)
    assert.matches("stitch|6|os.time isn't compiled|x|region of x", said, 1, true)
  end)

  it("leaves alone what isn't on the packet path", function ()
    local said = events_of([[end
      function X:tick()
        for i = 1, 200 do self.f = function () return i end end
      ]], true)
    assert.equal("", said)
  end)

  it("counts aborts only once the packet path is warm", function ()
    assert.equal("false\ttrue\tfalse\tfalse\n", (testing.script([[
      local health = require("core.watch.health")
      local C = require("core.native")
      health.warm_up = 10
      local e = {kind = "abort", reason = "NYI", packet_path = true, app = "x"}
      e.last = 1e99
      local first = health.is_problem(e) -- nothing has breathed: never warm
      local c = config.new()
      local X = {pull = function (self)
        for i = 1, 200 do self.f = function () return i end end
      end}
      function X:new() return setmetatable({}, {__index = X}) end
      config.app(c, "x", X)
      engine.configure(c)
      for i = 1, 10 do engine.breathe() end
      local now = C.pg_monotonic()
      e.last = now + 11
      local late = health.is_problem(e)
      e.last = now + 5
      local early = health.is_problem(e)
      e.last, e.reason = now + 11, "leaving loop in root trace"
      print(first, late, early, health.is_problem(e))]])))
  end)

  it("tells who follows a function of its traces, and how they end", function ()
    local said = testing.script([[
      local health = require("core.watch.health")
      local started, stopped = 0, {}
      local function ends() return table.concat(stopped, " ") end
      local function f(n)
        local sum = 0
        for i = 1, n do sum = sum + i % 7 end
        return sum
      end
      local follower = {started = function () started = started + 1 end,
                        stopped = function (_, how) stopped[#stopped + 1] = how end}
      health.follow(f, follower)
      f(1000)
      print(started > 0, ends())
      local before = started
      local function call()
        for _ = 1, 1000 do f(300) end -- the function's head is hot, too
      end
      jit.off(call)
      call()
      print(started > before, ends(), follower ~= nil) -- (it has been kept)
      local function depth(n) return n == 0 and 0 or 1 + depth(n - 1) end
      stopped = {}
      health.follow(depth, follower)
      for _ = 1, 10000 do -- LuaJIT may begin with a trace that returns
        if ends():find("up-recursion", 1, true) then break end
        depth(30)
      end
      print(ends():match("up%-recursion"))]])
    assert.equal("true\tloop\ntrue\tloop root\ttrue\nup-recursion\n", said)
  end)

  -- Compiled code that is left meanwhile becomes what LuaJIT records a part of.
  it("calls nothing of a script's while LuaJIT begins to record", function ()
    local said = testing.script([[
      -- Is this called as on_trace() in health.lua is, by LuaJIT itself?
      local function heard()
        for level = 3, 20 do
          local info = debug.getinfo(level, "Sn")
          if not info then return false end
          if not info.name and info.source:find("core/watch/health.lua", 1, true) then
            return select(2, debug.getlocal(level, 1)) -- what has happened
          end
        end
      end
      local called = false
      for _, name in ipairs{"pairs", "ipairs"} do
        local own = _G[name]
        _G[name] = function (t)
          called = called or heard() == "start"
          return own(t)
        end
      end
      local health = require("core.watch.health")
      local followed, follow = 0, health.follow
      function health.follow(f, follower)
        local started = follower.started
        function follower:started() followed = followed + 1; return started(self) end
        return follow(f, follower)
      end
      local c = config.new()
      config.app(c, "port", require("apps.port.port").Port, "null")
      local function process(_, p) return p end
      config.app(c, "x", {new = function () return {process = process} end})
      config.link(c, "port.output -> x.input")
      config.link(c, "x.output -> port.input")
      engine.configure(c)
      engine.busywait = true
      engine.main{no_report = true, done = function () return followed > 0 end}
      print(followed > 0, called)]])
    assert.equal("true\tfalse\n", said)
  end)
end)
