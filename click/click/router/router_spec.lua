-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local element = require("click.element")
local engine = require("core.app")
local texts = require("testing.texts")

local held = texts.held

local function read(r, handler) return assert(r:handler_read(handler)) end

describe("A router", function ()
  it("collects the errors of all elements", function ()
    local r, problems = click.router(
      "Idle -> Strip -> Paint(300) -> Strip(1, 2) -> Idle")
    assert.is_nil(r)
    assert.equal("spec:1: While configuring 'Strip@2 :: Strip':\n"
      .. "  LENGTH: required argument missing\n"
      .. "spec:1: While configuring 'Paint@3 :: Paint':\n"
      .. "  COLOR: out of range, bound 255\n"
      .. "spec:1: While configuring 'Strip@4 :: Strip':\n  too many arguments\n"
      .. "Router could not be initialized!\n",
      problems)
  end)

  it("finds elements from within compound elements outwards", function ()
    local r = assert(click.router([[
      elementclass A { input -> x :: Null -> output }
      a :: A; y :: Null; x :: Null;
      Idle -> a -> y -> x -> Idle]]))
    local inner = r:find("a/x")
    assert.equal("a/x", inner.name)
    assert.equal(inner, r:find("x", inner))
    assert.equal("x", r:find("x").name)
    assert.equal("y", r:find("y", inner).name)
    assert.is_nil(r:find("z", inner))
    r:close()
  end)

  it("has handlers", function ()
    local r = assert(click.router("i :: Idle -> [1]s :: Suppressor; Idle -> s;"
      .. "s -> c :: Counter -> d :: Discard; s[1] -> d; x :: InfiniteSource(LIMIT 5)"
      .. " -> d"))
    assert.equal("d", read(r, "d.name"))
    assert.equal("Discard", read(r, "d.class"))
    assert.equal("LIMIT 5", read(r, "x.config"))
    assert.equal("5", read(r, "x.limit"))
    assert.equal("true", read(r, "x.active"))
    assert.equal("true", read(r, "x.scheduled"))
    assert.equal("1 input\npush~\t-\ts [1], c [0], x [0]\n0 outputs\n",
      read(r, "d.ports"))
    assert.equal("1 input\npush~\t-\ts [0]\n1 output\npush~\t-\t[0] d\n",
      read(r, "c.ports"))
    assert.matches("^name\tr\nclass\tr\nconfig\tr\nports\tr\nhandlers\tr\n"
      .. "home_thread\trw\nactive\trw\ncount\tr\nreset_counts\tw\n",
      read(r, "d.handlers"))
    assert.equal("6\ni\ns\nIdle@3\nc\nd\nx\n", read(r, "list"))
    r:close()
  end)

  it("gets no field while it runs, which would grow its table", function ()
    local r = assert(click.router("s :: InfiniteSource(LIMIT 50, STOP true)"
      .. "-> SetTimestamp -> rw :: IPRewriter(drop) -> Discard;"
      .. "Script(TYPE PASSIVE, read s.count)"))
    r:activate()
    local fields = {}
    for name in pairs(r) do fields[name] = true end
    r:run()
    r:close()
    for name in pairs(r) do assert(fields[name], name) end
  end)

  it("says what is wrong with a handler's name", function ()
    local r = assert(click.router("d :: Discard; Idle -> d"))
    local function problem(text) return select(2, r:handler_read(text)) end
    assert.equal("no 'd.nothing' read handler", problem("d.nothing"))
    assert.equal("no 'd.reset_counts' read handler", problem("d.reset_counts"))
    assert.equal("no 'nothing' read handler", problem("nothing"))
    assert.equal("no element named 'x'", problem("x.count"))
    assert.equal("read handler 'd.count' does not take parameters",
      problem("d.count 5"))
    assert.equal("syntax error", problem("d."))
    assert.same({false, "no 'd.count' write handler"}, {r:handler_write("d.count", "")})
    assert.equal("0", (r:handler_read("count", r:find("d"))))
    r:close()
  end)

  for _, on_engine in ipairs{false, true} do
    local how = on_engine and "on the engine" or "by itself"
    describe(how, function ()
      local before
      before_each(function () before = held() end)
      after_each(function () engine.configure(require("core.config").new()) end)

      local function run(text, options)
        options = options or {}
        options.engine = on_engine
        return click.run(text, options)
      end

      it("runs until it is stopped", function ()
        local r = run([[
          InfiniteSource(abcdef, LIMIT 100, BURST 7, STOP true)
            -> Strip(2) -> c :: Counter -> d :: Discard]])
        assert.equal("100", read(r, "c.count"))
        assert.equal("400", read(r, "c.byte_count"))
        assert.equal("100", read(r, "d.count"))
        r:close()
        assert.equal(before, held())
      end)

      it("does things in Click's order", function ()
        local r = run([[
          InfiniteSource(x, LIMIT 2, STOP true) -> t :: Tee(2);
          t[0] -> Print(a) -> Print(b) -> Discard;
          t[1] -> Print(c) -> Discard]])
        assert.same({"a:    1 | 78", "b:    1 | 78", "c:    1 | 78",
                     "a:    1 | 78", "b:    1 | 78", "c:    1 | 78"}, r.said)
        r:close()
      end)

      it("pulls through elements that process packets", function ()
        local r = run([[
          InfiniteSource(\<0102030405>, LIMIT 3) -> Queue -> Strip(1)
            -> cp :: CheckLength(2) -> Unqueue -> Discard;
          cp[1] -> Print(long) -> c :: Counter -> Discard;
          TimedSource(1, STOP true, LIMIT 1) -> Discard]])
        assert.equal("3", read(r, "c.count"))
        assert.same({"long:    4 | 02030405", "long:    4 | 02030405",
                     "long:    4 | 02030405"}, r.said)
        r:close()
        assert.equal(before, held())
      end)

      it("frees what queues hold", function ()
        local r = run([[
          InfiniteSource(LIMIT 50, STOP true) -> q :: NotifierQueue(20) -> Idle;
          q[1] -> c :: Counter -> Discard]])
        assert.equal("20", read(r, "q.length"))
        assert.equal(before + 20, held())
        r:close()
        assert.equal(before, held())
      end)

      it("lets simulated time jump", function ()
        local r = run([[
          TimedSource(INTERVAL 1000, LIMIT 5, STOP true) -> c :: Counter
            -> Discard]])
        assert.equal("5", read(r, "c.count"))
        assert.is_true(r.clock.passed >= 6000 and r.clock.passed < 6001)
        r:close()
      end)

      it("goes round loops of connections", function ()
        local r = run([[
          InfiniteSource(LIMIT 3, STOP true) -> q :: Queue -> u :: Unqueue
            -> t :: Tee -> Discard; t[1] -> c :: Counter -> Strip(10)
            -> l :: CheckLength(20) -> Discard; l[1] -> q]])
        assert.is_true(tonumber(read(r, "c.count")) >= 3)
        r:close()
        assert.equal(before, held())
      end)
    end)
  end

  for _, on_engine in ipairs{false, true} do
    it("takes over from another" .. (on_engine and ", on the engine" or ""), function ()
      local before = held()
      local options = {engine = on_engine}
      local old = click.run("InfiniteSource(LIMIT 5, STOP true) -> q :: Queue -> Idle;"
        .. "TimedSource(1) -> c :: Counter -> Discard", options)
      options.old = old
      local new = assert(click.router("Idle -> q :: Queue -> Unqueue -> d :: Counter "
        .. "-> Discard; TimedSource(2, LIMIT 2, STOP true) -> c :: Counter "
        .. "-> Discard", options))
      local began = new.clock.passed
      new:run()
      assert.is_true(old.closed)
      assert.equal("5", read(new, "d.count"))
      assert.equal("2", read(new, "c.count"))
      assert.is_true(math.abs(new.clock.passed - began - 6) < 0.1)
      new:close()
      engine.configure(require("core.config").new())
      assert.equal(before, held())
    end)
  end

  it("keeps none of those whose place it took", function ()
    local routers, old = setmetatable({}, {__mode = "k"})
    for _ = 1, 5 do
      old = click.run("InfiniteSource(LIMIT 9, STOP true) -> Discard", {old = old})
      routers[old] = true
    end
    old:close()
    jit.flush() -- traces keep what they were compiled for
    collectgarbage()
    collectgarbage()
    local n = 0
    for _ in pairs(routers) do n = n + 1 end
    assert.is_true(n <= 2, n .. " of 5 routers are still there")
  end)

  it("cleans up what was configured when another element fails", function ()
    local seen = {}
    local function class(name, fields)
      fields.name, fields.ports = name, "0/0"
      fields.cleanup = function () seen[#seen + 1] = name end
      return element.define(fields)
    end
    local classes = {
      Good = class("Good", {}),
      Bad = class("Bad", {configure = function (self) self:error("no") end}),
    }
    local _, problems = click.router("Good; Bad; Good", {find_class = function (name)
      return classes[name]
    end})
    assert.matches("While configuring 'Bad@2 :: Bad':\n  no\n", problems)
    assert.same({"Good", "Good"}, seen)
  end)

  it("doesn't take methods that the engine would call", function ()
    assert.has_error(function ()
      element.new(element.define{name = "X", push = function () end}, {})
    end)
  end)
end)
