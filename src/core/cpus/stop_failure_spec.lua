-- SPDX-License-Identifier: Apache-2.0
-- All stop, whatever one of them raises: what others have is written.

local affinity = require("core.cpus.affinity")
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local engine = require("core.app")
local Port = require("apps.port.port").Port
local workers = require("core.cpus.workers")
local stdlib = require("posix.stdlib")
local Stuck = require("testing.stuck").Stuck

local cpus = affinity.cpus()
local FIRST, SECOND = cpus[1], cpus[2] or cpus[1] + 1
local PACKETS, PCAP_HEADER, RECORD = 40, 24, 16 + 60

-- A source, and on each of the CPUs (nil: none) a file that its packets are written to;
-- `bad` apps raise in stop(), each where it is placed.
local function graph(files, bad)
  local c = config.new()
  for i, file in ipairs(files) do
    local source, out = "source" .. i, "out" .. i
    config.app(c, source, basic.Source, 60)
    config.app(c, out, Port, "pcap:tx=" .. file.path)
    config.link(c, ("%s.output -> %s.input"):format(source, out))
    for _, name in ipairs{source, out} do config.cpu(c, name, file.cpu) end
  end
  for name, cpu in pairs(bad) do
    config.app(c, name, Stuck)
    if cpu ~= "main" then config.cpu(c, name, cpu) end
  end
  return c
end

local function size(path)
  local f = assert(io.open(path, "rb"))
  local n = f:seek("end")
  f:close()
  return n
end

describe("an app that raises in stop()", function ()
  local folder

  before_each(function () folder = stdlib.mkdtemp("/tmp/perigee-spec.XXXXXX") end)
  after_each(function () os.execute("rm -r " .. folder) end)

  local function check(bad, told)
    local files = {{path = folder .. "/1.pcap", cpu = FIRST},
                   {path = folder .. "/2.pcap", cpu = SECOND}}
    engine.configure(graph(files, bad))
    local breaths = 0
    engine.main{no_report = true, done = function ()
      breaths = breaths + 1
      local least = math.huge
      for _, totals in pairs(engine.link_totals()) do
        least = math.min(least, totals.rxpackets)
      end
      return least >= PACKETS or breaths > 1e6
    end}
    local ok, err = pcall(engine.stop)
    assert.is_false(ok)
    assert.matches(told, tostring(err))
    assert.same({}, workers.by_cpu)
    assert.same({}, engine.app_table)
    assert.is_nil(next(engine.configuration.apps))
    for _, file in ipairs(files) do
      local bytes = size(file.path)
      assert.is_true(bytes > PCAP_HEADER)
      assert.equal(0, (bytes - PCAP_HEADER) % RECORD)
    end
    engine.stop()
  end

  it("on the main thread lets workers stop", function ()
    check({bad = "main"}, "app 'bad': .*stuck")
  end)

  it("on a worker lets the others stop, and tells the first", function ()
    check({bad1 = FIRST, bad2 = SECOND, bad3 = "main"}, "app 'bad1': .*stuck")
  end)
end)
