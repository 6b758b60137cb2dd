-- SPDX-License-Identifier: Apache-2.0
-- Going on after errors: what becomes of the app, and that every packet is counted.

local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local engine = require("core.app")
local failing = require("testing.failing")
local link = require("core.link")
local packet = require("core.packet")
local regions = require("testing.regions")
local shm = require("core.shm")
local texts = require("testing.texts")

local breathe, forms, run, LINKS = failing.breathe, failing.forms, failing.run,
  failing.LINKS
local held, send, take = texts.held, texts.send, texts.take

-- The value of the app's counter in shared memory.
local function counted(name, what)
  local c = shm.open(("apps/%s/%s.counter"):format(name, what), "struct counter",
    "readonly")
  local value = tonumber(c.c)
  shm.unmap(c)
  return value
end

describe("After an error, an app", function ()
  local before, said
  before_each(function () before, said = failing.set_up() end)
  after_each(failing.tear_down)

  -- A bulk app loses the whole burst with an error.
  for form, lost in pairs{process = 1, process_burst = 3, push = false} do
    for _, fused in ipairs{true, false} do
      local what = ("(%s, fused: %s)"):format(form, fused)

      it("is made anew with 'restart' " .. what, function ()
        engine.fuse = fused
        local bad, log = forms()
        run(bad[form], "restart")
        for i = #log, 1, -1 do log[i] = nil end
        local app = engine.app_table.bad
        send(LINKS[1], {"1", "!", "3"})
        if not lost then -- it looks before it takes: that stays in the link
          breathe()
          packet.free(link.receive(engine.link_table[LINKS[2]]))
        end
        breathe(2)
        assert.same({"stop", "new", "link", "link"}, log)
        assert.not_equal(app, engine.app_table.bad)
        send(LINKS[1], {"4", "5"})
        breathe()
        assert.same(lost == 3 and {"4", "5"} or {"1", "3", "4", "5"}, take(LINKS[4]))
        assert.same({error = lost or nil}, engine.drops("bad"))
        assert.equal(before, held())
        local errors = engine.errors("bad")
        assert.equal(1, #errors.causes)
        assert.equal(1, errors.causes[1].count)
        assert.same({1, 1, 0}, {errors.raised, errors.restarts, errors.bypassed})
        assert.matches("^perigee: app 'bad': in " .. form .. "%(%): [^\n]*failing.lua:"
          .. "%d+: it began with !\nperigee: app 'bad' runs again\n$", said())
      end)

      it("is passed by with 'bypass' " .. what, function ()
        engine.fuse = fused
        local bad, log = forms()
        run(bad[form], "bypass")
        send(LINKS[1], {"1", "!", "3"})
        breathe(2)
        send(LINKS[1], {"!4", "!5"})
        breathe()
        local come = {process = {"1", "3", "!4", "!5"}, process_burst = {"!4", "!5"},
                      push = {"1", "!", "3", "!4", "!5"}}
        assert.same(come[form], take(LINKS[4]))
        assert.same({error = lost or nil}, engine.drops("bad"))
        assert.equal(before, held())
        assert.equal("stop", log[#log])
        local passed = ({process = 3, process_burst = 2, push = 4})[form]
        assert.equal(passed, engine.errors("bad").bypassed)
        assert.matches("perigee: app 'bad' is stopped: packets bypass it, to its "
          .. "output 'output'\n$", said())
        engine.sync()
        for name, n in pairs{raised = 1, restarts = 0, bypassed = passed} do
          assert.equal(n, counted("bad", "errors_" .. name), name)
        end
      end)

      it("gets no more packets with 'drop' " .. what, function ()
        engine.fuse = fused
        run(forms()[form], "drop")
        send(LINKS[1], {"1", "!", "3"})
        breathe(2)
        send(LINKS[1], {"4", "5"})
        breathe()
        assert.same(lost == 3 and {} or {"1"}, take(LINKS[4]))
        local drops = ({process = 3, process_burst = 2, push = 4})[form]
        assert.same({error = lost or nil, ["stopped for an error"] = drops},
          engine.drops("bad"))
        assert.equal(before, held())
        assert.matches("perigee: app 'bad' is stopped: packets for it are dropped\n$",
          said())
        engine.sync()
        assert.equal(drops, counted("bad", "drop_stopped_for_an_error"))
      end)
    end
  end

  it("ends the program without a policy, and with 'stop'", function ()
    for _, policy in ipairs{false, "stop"} do
      engine.on_error = policy and "drop" or "stop"
      run(forms().process, policy)
      send(LINKS[1], {"!"})
      local ok, err = pcall(breathe)
      assert.is_false(ok)
      assert.matches("^app 'bad': in process%(%): .*began with !", err)
      assert.is_nil(engine.errors("bad"))
      engine.configure(config.new())
    end
    assert.equal("", said())
  end)

  it("has the policy engine.on_error, if none of its own", function ()
    engine.on_error = "drop"
    run(forms().process)
    send(LINKS[1], {"!", "2"})
    breathe(2)
    assert.same({error = 1, ["stopped for an error"] = 1}, engine.drops("bad"))
    engine.on_error = "retry"
    assert.error_matches(function () engine.configure(config.new()) end,
      "^engine.on_error: 'retry' is none of stop, restart, bypass, drop$")
  end)

  it("is made anew only so often in so many seconds", function ()
    local bad, log = forms()
    run(bad.push, "restart", {times = 2})
    for i = #log, 1, -1 do log[i] = nil end
    send(LINKS[1], {"1", "!", "3"})
    local ok, err = pcall(breathe, 3)
    assert.is_false(ok)
    assert.matches("^app 'bad': it isn't started again, as it was 2 times within 10 s; "
      .. "its last error: app 'bad': in push%(%): .*it began with !$", tostring(err))
    assert.equal("stop new link link stop new link link stop", table.concat(log, " "))
    assert.same({3, 2}, {engine.errors("bad").raised, engine.errors("bad").restarts})
    breathe() -- the graph is whole
    assert.same({["stopped for an error"] = 2}, engine.drops("bad"))
    assert.equal(before, held() - #take(LINKS[4]) + 1)
  end)

  it("is told of once, however often it fails", function ()
    run(forms().process, "restart", {times = 1000})
    for _ = 1, 100 do
      send(LINKS[1], {"!", "good"})
      breathe()
    end
    breathe(200)
    assert.equal(2, select(2, said():gsub("perigee: ", "")))
    assert.equal(100, #take(LINKS[4]))
    assert.same({error = 100}, engine.drops("bad"))
    assert.equal(100, engine.errors("bad").raised)
    assert.equal(before, held())
  end)

  it("that pulls, or ticks, is stopped, and the others go on", function ()
    for _, method in ipairs{"pull", "tick"} do
      local c = config.new()
      config.app(c, "source", basic.Source)
      config.app(c, "bad", regions.class{[method] = function () error("no") end})
      config.app(c, "sink", basic.Sink)
      config.link(c, "source.output -> sink.input")
      config.on_error(c, "bad", "drop")
      engine.configure(c)
      local l = engine.link_table["source.output -> sink.input"]
      for _ = 1, 200 do -- a machine may be busy
        engine.main{duration = 0.05, no_report = true}
        if link.stats(l).rxpackets > 1000 then break end
      end
      assert.is_true(link.stats(l).rxpackets > 1000)
      assert.equal(1, engine.errors("bad").raised)
      assert.matches("perigee: app 'bad': in " .. method .. "%(%): ", said())
      engine.configure(config.new())
    end
  end)

  it("is in the report, with what it raised and what became of packets", function ()
    run(forms().process, "restart")
    send(LINKS[1], {"!", "2"})
    breathe(2)
    local lines, print_before = {}, print
    rawset(_G, "print", function (text) lines[#lines + 1] = text end)
    engine.report_apps()
    rawset(_G, "print", print_before)
    assert.equal("bad", lines[2])
    assert.equal("  1 dropped: error", lines[3])
    assert.matches("^  1 error: in process%(%): .*failing.lua:%d+: it began with !$",
      lines[4])
    assert.equal("  started again: 1 time", lines[5])
  end)
end)
