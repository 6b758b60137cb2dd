-- SPDX-License-Identifier: Apache-2.0
-- What has been seen to make LuaJIT's code slow for good, in one process: modules
-- loaded while the engine runs, and slow code that shares functions with packets.

local testing = require("testing.support")

-- Runs the program in arg with `require` watched while the engine runs.
local WATCHED = [[
  local plain = require
  engine.intercept{main = function (options, run)
    function _G.require(name)
      print("loaded while running: " .. name)
      return plain(name)
    end
    run(options)
    _G.require = plain
  end}
  local report = engine.report
  function engine.report(...)
    _G.require = plain
    report(...)
  end
  main.launch((...), {select(2, ...)})]]

-- The share of the CPU's time that packets through a graph spend in compiled code,
-- before and after `slow` was called often. By samples, which say the same on a busy
-- machine; without a flag they leave traces as they are.
local MEASURED = [[
  local C = require("core.native")
  local account = require("core.engine.account")
  local Port = require("apps.port.port").Port
  local Fwd = {}
  function Fwd:new() return setmetatable({}, {__index = Fwd}) end
  function Fwd:push()
    local i, o = self.input.input, self.output.output
    for _ = 1, link.nreadable(i) do link.transmit(o, link.receive(i)) end
  end
  local Copy = {}
  function Copy:new() return setmetatable({}, {__index = Copy}) end
  function Copy:process(p)
    local q = packet.clone(p)
    packet.free(p)
    return q
  end
  local c = config.new()
  config.app(c, "port", Port, "null")
  local from = "port"
  for i, class in ipairs{Fwd, Fwd, Copy, Copy, Fwd} do
    config.app(c, "app" .. i, class)
    config.link(c, from .. ".output -> app" .. i .. ".input")
    from = "app" .. i
  end
  config.link(c, from .. ".output -> port.input")
  engine.configure(c)
  engine.busywait = true
  local function compiled()
    local all, inside = 0, 0
    local function main(seconds)
      local ends = C.pg_cpu_seconds() + seconds
      while C.pg_cpu_seconds() < ends do
        local breaths = 0
        engine.main{no_report = true, done = function ()
          breaths = breaths + 1
          return breaths > 100
        end}
      end
    end
    main(0.2) -- what is slow has been compiled by now
    require("jit.profile").start("i1", function (_, samples, state)
      all = all + samples
      if state == "N" then inside = inside + samples end
    end)
    main(0.5)
    require("jit.profile").stop()
    assert(all > 50, all)
    return inside / all
  end
  local function slow()
    local all = {}
    for _, l in pairs(engine.link_table) do all[#all + 1] = link.stats(l) end
    all.text = tostring(account.packets(engine.link_table).received) .. "x"
    local p = packet.from_string(all.text)
    local first = engine.link_table["app1.output -> app2.input"]
    all.sizes = {p.length, link.nreadable(first)}
    packet.free(p)
    table.sort(all.sizes)
    return function () return all end
  end
  local before
  if ... == "first" then
    for _ = 1, 100000 do slow() end
    before = tonumber((select(2, ...)))
  else
    before = compiled()
    for _ = 1, 100000 do slow() end
  end
  print(before, compiled())]]

describe("nothing is loaded while the engine runs: #slow", function ()
  local files = {rx = os.tmpname(), tx = os.tmpname()}

  setup(function ()
    assert.equal(0, select(2, testing.perigee{"capture", "null", files.rx,
      "--duration", "0.01"}))
  end)

  teardown(function ()
    os.remove(files.rx)
    os.remove(files.tx)
  end)

  for name, arguments in pairs{
    echo = {"echo", "null", "3", "0.2"},
    ["echo of a file"] = {"echo", ("pcap:rx=%s,tx=%s"):format(files.rx, files.tx), "2"},
    replay = {"replay", files.rx, "null", "--topspeed"},
    capture = {"capture", "null", files.tx, "--duration", "0.02"},
    packetblaster = {"packetblaster", "synth", "--duration", "0.2", "null"},
  } do
    it(name, function ()
      local said, status = testing.script(WATCHED, {}, arguments)
      assert.equal(0, status)
      assert.is_nil(said:match("loaded while running: [^\n]*"))
    end)
  end
end)

describe("slow code doesn't slow packets down #slow", function ()
  local function measure(...) return testing.two_numbers(MEASURED, {...}) end

  it("when it runs between", function ()
    local before, after = measure("between")
    assert.is_true(before > 0.75 and after > 0.75,
      ("compiled: %.2f before, %.2f after"):format(before, after))
  end)

  it("when it runs first", function ()
    local _, after = measure("first", "1")
    assert.is_true(after > 0.75, ("compiled: %.2f"):format(after))
  end)
end)
