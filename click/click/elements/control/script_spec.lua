-- SPDX-License-Identifier: Apache-2.0
local clock = require("click.router.clock")
local element = require("click.element")
local errors = require("click.errors")
local calls = require("click.script.calls")
local output = require("click.script.output")
local text = require("click.language.text")
local Script, DriverManager = unpack(require("click.elements.control.script"))

-- A router of scripts only, in simulated time.
local Router = {}
Router.__index = Router

local function new_router()
  local router = setmetatable({clock = clock.new{simulated = true}, elements = {},
    runcount = 1, flat = {}, global_handlers = require("click.router.global_handlers")},
    Router)
  router.root = {name = "", router = router}
  return router
end

function Router:complain(e, _, fmt, ...)
  self.reporter:context(e.name):error(fmt, ...)
end

function Router:adjust_runcount(n) self.runcount = self.runcount + n end
function Router:stop(n) self:adjust_runcount(-(n or 1)) end
function Router:timer(f) return self.clock:timer(f) end
function Router:now() return self.clock:now() end
function Router:steady() return self.clock:steady() end

function Router:find(name)
  for _, e in ipairs(self.elements) do if e.name == name then return e end end
end

function Router:add(name, class, config, ports)
  local e = element.new(class, {name = name, router = self, config = config,
    ninputs = ports or 0, noutputs = ports or 0, index = #self.elements + 1})
  self.elements[e.index] = e
  e:configure_raw(text.arguments(config), config)
  return e
end

-- Let it run until it stops, or `seconds` have passed.
function Router:run(seconds)
  for _, e in ipairs(self.elements) do e:initialize() end
  local till = self.clock:steady() + (seconds or 60)
  repeat
    while self.runcount <= 0 do
      if not self.manager or not self.manager:stopped() then return end
    end
    self.clock:run()
  until self.runcount > 0 and (not self.clock:jump() or self.clock:steady() > till)
end

describe("Script", function ()
  local printed, said, write, to_stderr, router

  before_each(function ()
    printed, said, write, to_stderr = {}, {}, output.write, errors.to_stderr
    output.write = function (_, s) printed[#printed + 1] = s end
    errors.to_stderr = function ()
      return errors.new(function (line) said[#said + 1] = line end)
    end
    router = new_router()
    router.reporter = errors.to_stderr()
  end)

  after_each(function () output.write, errors.to_stderr = write, to_stderr end)

  local function shown() return (table.concat(printed):gsub("\n", " ")) end

  -- What a script prints.
  local function run(config, class)
    router:add("s", class or Script, config)
    router:run()
    return shown()
  end

  it("prints, sets, jumps and calculates", function ()
    assert.equal("0 1 2 ", run("set x 0, label l, print $x, set x $(add $x 1), "
      .. "goto l $(lt $x 3), stop"))
    assert.equal(0, router.runcount)
  end)

  it("tells quoted text from unquoted", function ()
    assert.equal([[s s.name "s.name" "s" s s ]], run([[print s.name, print "s.name",
      print '"s.name"', set x "$(s.name)", print '"s"', setq y $x, print $y,
      set z s.name, print $($z), stop]]))
  end)

  it("calls handlers in the compound around it", function ()
    local call = calls.parse("add 1 2", router:add("s", Script, ""), "read")
    assert.equal("s.add 1 2", calls.text(call))
    local root = router.root
    assert.equal("s", calls.read(calls.parse("s.name", root, "read")))
    assert.equal("userlevel", calls.read(calls.parse("driver", root, "read")))
    assert.same({nil, "no element named 'x'"}, {calls.parse("x.name", root, "read")})
    assert.same({nil, "no 's.x' read handler"}, {calls.parse("s.x", root, "read")})
    assert.same({nil, "no 's.name' write handler"},
      {calls.parse("s.name 1", root, "write")})
    assert.same({nil, "read handler 's.name' does not take parameters"},
      {calls.parse("s.name 1", root, "read")})
  end)

  it("waits for a time, or a step", function ()
    router:add("a", Script,
      "wait 1s, print 'a', pause 2, print 'b', wait 100, print 'c', stop")
    router:add("b", Script, "wait 2, write a.step, wait 1, write a.step, wait 1, "
      .. "write a.step")
    router:run()
    assert.equal("a b c ", shown())
    assert.is_true(router.clock:steady() < 1e9 + 5)
  end)

  it("is given up when it turns round and round", function ()
    router:add("s0", Script, "label a, goto a")
    router:add("s1", Script, "wait 1, stop")
    router:run()
    assert.same({"s0 :: Script: too many jumps, giving up"}, said)
  end)

  it("manages stops as a driver", function ()
    router:add("d", DriverManager, "pause, print 1, wait_stop 2, print 2")
    router:add("s", Script, "label l, wait 1, write stop, print 's', loop")
    router:run()
    assert.equal("s 1 s s 2 ", shown())
    assert.is_true(router.runcount <= 0)
  end)

  it("runs at once as a driver too", function ()
    assert.equal("1 2 ", run("print 1, wait 1s, print 2", DriverManager))
    assert.is_true(router.runcount <= 0)
  end)

  it("returns values as passive handler and as proxy", function ()
    router:add("p", Script, "TYPE PASSIVE, returnq \"$# $1-$2 $args\"")
    router:add("x", Script,
      "TYPE PROXY, goto n $(ne $0 a), return $write, label n, error 'bad handler'")
    assert.equal("2 a-b a b false ", run("print $(p.run a b), print $(x.a), stop"))
    local reporter = errors.to_stderr()
    calls.read(calls.parse("x.b", router.elements[1], "read"), reporter)
    assert.equal(1, reporter.count)
  end)

  it("exports variables, and keeps initial ones", function ()
    local s = router:add("s", Script, "export v $(add 1 1), initq w \"a b\", "
      .. "print $v $w, set v 7, stop")
    router:run()
    assert.equal("2 a b ", shown())
    assert.equal("7", calls.read(calls.parse("v", s, "read"), nil))
    assert.is_nil(s.class.handlers.v)
  end)

  it("sorts packets by what it returns", function ()
    local s = router:add("s", Script, "init i 0, set j $i, "
      .. "set i $(if $(eq $i 0) 1 0), return $j", 2)
    s:initialize()
    local p = {}
    assert.same({p, 1}, {s:process(p, 1)})
    assert.same({p, 2}, {s:process(p, 1)})
    local e = router:add("e", Script, "goto out $input, end, label out, exit", 2)
    e:initialize()
    assert.same({p, 1}, {e:process(p, 1)})
    assert.is_nil(e:process(p, 2))
  end)

  it("says what is wrong with its arguments", function ()
    for config, problem in pairs {
      ["TYPE X"] = "bad TYPE", ["TYPE SIGNAL"] = "bad signal number",
      ["TYPE SIGNAL X"] = "bad signal number", foo = "syntax error at 'foo'",
      ["goto x"] = "no such label 'x'",
      ["TYPE PACKET"] = "PACKET script must have inputs",
    } do
      said = {}
      router:add("s", Script, config)
      assert.same({"s", "  " .. problem}, said)
    end
    said = {}
    router:add("s", Script, "TYPE ACTIVE", 1)
    assert.same({"s", "  ports allowed only on PACKET scripts"}, said)
    router:add("d", DriverManager, "")
    said = {}
    router:add("d2", DriverManager, "")
    assert.same({"d2", "  router has more than one driver script"}, said)
  end)

  it("says what went wrong in it", function ()
    run("print $(nothing), print nothing, write s.goto nowhere, print $?, "
      .. "goto x maybe, label x, wait for me")
    assert.equal("$(nothing)-22\n", table.concat(printed))
    assert.same({"While executing 's :: Script':", "  no 'nothing' read handler",
      "  no 'nothing' read handler", "  While calling 's.goto nowhere':",
      "    jump to nonexistent label", "  bad condition 'maybe'",
      "  syntax error at 'wait'"}, said)
  end)
end)
