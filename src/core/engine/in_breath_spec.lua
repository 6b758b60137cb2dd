-- SPDX-License-Identifier: Apache-2.0
-- engine.configure in methods of apps: what is wrong is said there, and what isn't is
-- applied at the end of the breath; no packet is lost.

local account = require("core.engine.account")
local config = require("core.config")
local engine = require("core.app")
local failure = require("core.failure")
local link = require("core.link")
local packet = require("core.packet")

local Idle = {new = function () return {} end}

local function class(fields)
  fields.new = fields.new or function ()
    return setmetatable({}, {__index = fields})
  end
  return fields
end

-- Takes what comes; keeps the first bytes.
local Out = {}

function Out:new() return setmetatable({got = {}}, {__index = Out}) end

function Out:push()
  local input = self.input.input
  for _ = 1, link.nreadable(input) do
    local p = link.receive(input)
    self.got[#self.got + 1] = p.data[0]
    packet.free(p)
  end
end

local Pass = class{process = function (_, p) return p end}

-- feed -> before -> app -> after -> out, where `before` and `after` are per packet.
-- With `extra` there is one more app behind `after`.
local function graph(kind, extra)
  local c = config.new()
  for name, k in pairs{feed = Idle, before = Pass, app = kind, after = Pass,
                       out = Out} do
    config.app(c, name, k)
  end
  config.link(c, "feed.output -> before.input")
  config.link(c, "before.output -> app.input")
  config.link(c, "app.output -> after.input")
  if extra then
    config.app(c, "extra", Pass)
    config.link(c, "after.output -> extra.input")
    config.link(c, "extra.output -> out.input")
  else
    config.link(c, "after.output -> out.input")
  end
  return c
end

local function forward(self, action)
  local input = self.input.input
  for _ = 1, link.nreadable(input) do
    link.transmit(self.output.output, link.receive(input))
  end
  if action then action() end
end

-- Classes that call action() once in the named method, in the midst of a burst.
local FORMS = {
  process = function (action)
    local seen = 0
    return class{process = function (_, p)
      seen = seen + 1
      if seen == 150 then action() end
      return p
    end}
  end,
  process_burst = function (action)
    local done = false
    return class{process_burst = function ()
      if not done then action() end
      done = true
    end}
  end,
  push = function (action)
    local done = false
    return class{push = function (self)
      local act = not done and action
      done = true
      forward(self, act)
    end}
  end,
  pull = function (action)
    local done = false
    return class{pull = function ()
      if not done then action() end
      done = true
    end, push = function (self) forward(self) end}
  end,
  tick = function (action)
    local done = false
    return class{tick = function ()
      if not done then action() end
      done = true
    end, process = function (_, p) return p end}
  end,
}

local sent

local function send(n)
  for _ = 1, n do
    sent = sent + 1
    link.transmit(engine.app_table.feed.output.output,
      packet.from_string(string.char(sent % 256, 1)))
  end
end

-- All that was sent has come out, in order.
local function check_all()
  local got = engine.app_table.out.got
  assert.equal(sent, #got)
  for i = 1, sent do assert.equal(i % 256, got[i]) end
end

describe("engine.configure in a breath,", function ()
  local hz = engine.tick_Hz

  before_each(function ()
    engine.stop()
    sent = 0
    engine.tick_Hz = math.huge -- a tick in every breath
  end)

  after_each(function ()
    engine.tick_Hz, engine.fuse = hz, true
    engine.stop()
  end)

  for form, make in pairs(FORMS) do
    for _, fused in ipairs{true, false} do
      local how = fused and "" or ", not fused"

      it(("in %s%s, is applied at its end, and loses nothing"):format(form, how),
        function ()
          engine.fuse = fused
          local kind, meanwhile
          kind = make(function ()
            local new = graph(kind, true)
            engine.configure(new)
            new.apps.app = nil -- the caller's, to change as he likes
            meanwhile = engine.app_table.extra
          end)
          local held = account.packets(engine.link_table).held
          engine.configure(graph(kind))
          send(300)
          local app = engine.app_table.app
          engine.breathe()
          assert.is_nil(meanwhile)
          assert.truthy(engine.app_table.extra)
          assert.equal(app, engine.app_table.app)
          send(300)
          engine.breathe()
          check_all()
          assert.equal(held, account.packets(engine.link_table).held)
        end)

      it(("in %s%s, goes on with what stays"):format(form, how), function ()
        engine.fuse = fused
        local kind
        kind = make(function ()
          local new = graph(kind)
          config.app(new, "more", Idle)
          engine.configure(new)
        end)
        engine.configure(graph(kind))
        send(300)
        engine.breathe()
        assert.truthy(engine.app_table.more)
        send(200)
        engine.breathe()
        check_all()
      end)

      it(("in %s%s, says at once what is wrong"):format(form, how), function ()
        engine.fuse = fused
        local kind, said
        kind = make(function ()
          local new = graph(kind)
          config.link(new, "nobody.x -> app.y")
          local ok, err = pcall(engine.configure, new)
          said = not ok and failure.is(err) and tostring(err)
        end)
        engine.configure(graph(kind))
        send(300)
        engine.breathe()
        assert.matches("^link 'nobody.x %-> app.y': there is no app 'nobody'", said)
        check_all()
      end)
    end
  end

  it("may stop everything: what is in links then is counted as freed", function ()
    local kind = FORMS.process(function () engine.stop() end)
    engine.configure(graph(kind))
    engine.app_table.out.push = function () end
    engine.configure(graph(kind, true)) -- lists the calls anew
    local before = account.packets(engine.link_table)
    send(300)
    engine.breathe()
    assert.same({}, engine.app_table)
    local after = account.packets(engine.link_table)
    assert.equal(before.freed + 300, after.freed)
    assert.equal(before.held, after.held)
    engine.breathe()
  end)

  it("the last of several counts", function ()
    local kind
    kind = FORMS.push(function ()
      engine.stop()
      engine.configure(graph(kind, true))
    end)
    engine.configure(graph(kind))
    local app = engine.app_table.app
    engine.breathe()
    assert.equal(app, engine.app_table.app)
    assert.truthy(engine.app_table.extra)
  end)

  it("raises what new() raises from engine.breathe; the old graph runs on", function ()
    local Bad = class{new = function () failure.raise("no device") end}
    local kind
    kind = FORMS.push(function ()
      local new = graph(kind)
      config.app(new, "bad", Bad)
      engine.configure(new)
    end)
    engine.configure(graph(kind))
    send(3)
    local ok, err = pcall(engine.breathe)
    assert.is_false(ok)
    assert.equal("app 'bad': no device", tostring(err))
    engine.breathe()
    check_all()
    engine.configure(graph(kind, true)) -- outside: at once
    assert.truthy(engine.app_table.extra)
  end)

  it("of engine.main too", function ()
    local kind
    kind = FORMS.process(function () engine.configure(graph(kind, true)) end)
    engine.configure(graph(kind))
    send(300)
    engine.main{duration = 0.001, no_report = true}
    assert.truthy(engine.app_table.extra)
    engine.configure(graph(kind))
    assert.is_nil(engine.app_table.extra)
  end)

  it("after an error in a breath, is applied at the end of the next", function ()
    local kind
    kind = FORMS.push(function ()
      engine.configure(graph(kind, true))
      error("oops")
    end)
    engine.configure(graph(kind))
    assert.is_false(pcall(engine.breathe))
    assert.is_nil(engine.app_table.extra)
    engine.breathe()
    assert.truthy(engine.app_table.extra)
  end)
end)

describe("within a breath there is no other:", function ()
  before_each(function () sent = 0 end)
  after_each(function () engine.stop() end)

  for _, name in ipairs{"breathe", "main"} do
    it("engine." .. name, function ()
      local said
      engine.configure(graph(FORMS.process(function ()
        local ok, err = pcall(engine[name], {duration = 0})
        said = not ok and failure.is(err) and tostring(err)
      end)))
      send(300)
      engine.breathe()
      assert.equal(("engine.%s was called by an app, within a breath"):format(name),
        said)
      check_all()
    end)
  end
end)

describe("while a configuration is applied, another is refused:", function ()
  after_each(function () engine.stop() end)

  for _, method in ipairs{"new", "link", "reconfig", "stop"} do
    it("in " .. method .. "()", function ()
      local said, called
      local function call()
        if called then return end
        called = true
        local ok, err = pcall(engine.configure, config.new())
        said = not ok and failure.is(err) and tostring(err)
      end
      local kind = {push = function () end}
      function kind:new()
        if method == "new" then call() end
        return setmetatable({}, {__index = kind})
      end
      if method ~= "new" then kind[method] = call end
      local function configuration(arg)
        local c = config.new()
        config.app(c, "a", kind, arg)
        config.app(c, "b", Idle)
        config.link(c, "a.x -> b.y")
        return c
      end
      engine.configure(configuration(1))
      engine.configure(configuration(2))
      engine.stop()
      assert.matches("^engine.configure was called while a configuration is being "
        .. "applied, in an app's new%(%), link%(%) or the like;", said)
    end)
  end
end)
