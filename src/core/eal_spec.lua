-- SPDX-License-Identifier: Apache-2.0

local eal = require("core.eal")
local testing = require("testing.support")

local function plan(user, free_mb)
  local free, can_be_had = eal.free_huge_mb, eal.huge_can_be_had
  eal.free_huge_mb = function () return free_mb or 0 end
  eal.huge_can_be_had = function (mb) return mb <= (free_mb or 0) end
  local ok, args = pcall(eal.plan, user or {})
  eal.free_huge_mb, eal.huge_can_be_had = free, can_be_had
  assert(ok, args)
  return " " .. table.concat(args, " ") .. " "
end

describe("EAL's arguments", function ()
  it("ask for hugepages where enough are free, else for none", function ()
    local with = plan({}, 128)
    assert.matches(" %-%-in%-memory ", with)
    assert.not_matches("%-%-no%-huge", with)
    local without = plan({}, 127)
    assert.matches(" %-%-no%-huge %-m %d+ ", without)
    assert.not_matches("%-%-in%-memory", without)
  end)

  it("run on the process's own CPUs, quietly, apart from others", function ()
    local args = plan()
    assert.matches(" %-%-lcores 0@%(" .. eal.cpus():gsub("%-", "%%-") .. "%) ", args)
    assert.matches(" %-%-log%-level error ", args)
    assert.matches(" %-%-no%-telemetry ", args)
    assert.matches(" %-%-file%-prefix perigee%-%d+%-%d+ ", args)
    assert.matches(" %-%-no%-shconf ", args)
    assert.matches(" %-a 0000:00:00.0 ", args)
  end)

  it("leave out what the user sets, in any way of writing it", function ()
    for _, case in ipairs{
      {{"-l", "0"}, "%-%-lcores"}, {{"-l0"}, "%-%-lcores"}, {{"-c1"}, "%-%-lcores"},
      {{"--lcores=0@0"}, "%-%-lcores 0@%("}, {{"--lcores", "0@0"}, "%-%-lcores 0@%("},
      {{"--log-level=debug"}, "%-%-log%-level error"},
      {{"-m512"}, "%-%-no%-huge"}, {{"-m", "512"}, "%-%-no%-huge"},
      {{"--no-huge", "-m", "64"}, "%-m %d%d%d"}, {{"--huge-dir=/x"}, "%-%-no%-huge"},
      {{"--file-prefix", "x"}, "perigee%-%d"}, {{"-a", "0000:01:00.0"}, "00:00.0"},
      {{"-a0000:01:00.0"}, " 0000:00:00.0"}, {{"--no-pci"}, "%-a 0000"},
      {{"--in-memory"}, "%-%-file%-prefix"},
    } do
      local args = plan(case[1])
      assert.not_matches(case[2], args)
      assert.matches(" " .. case[1][1]:gsub("%p", "%%%0") .. " ", args)
    end
  end)

  it("give memory enough for the packets without hugepages, whoever chose that",
     function ()
    assert.matches(" %-m %d%d%d+ .*%-%-no%-huge $", plan{"--no-huge"})
  end)

  it("aren't mistaken for longer ones that begin alike", function ()
    assert.matches("%-%-log%-level error", plan{"--log-level-help"})
    assert.matches("%-%-lcores", plan{"--legacy-mem"})
  end)

  it("end with the user's, in order", function ()
    assert.matches(" %-a x %-a y %-%-vdev=net_null0 $",
      plan{"-a", "x", "-a", "y", "--vdev=net_null0"})
  end)
end)

describe("starting DPDK", function ()
  it("fails in a sentence with the arguments it was given", function ()
    local said, status = testing.script("packet.allocate()",
      {"--eal", "--no-such-option"})
    assert.equal(1, status)
    assert.matches("perigee: DPDK doesn't start with '.*%-%-no%-such%-option'", said)
    assert.not_matches("traceback", said)
  end)

  it("works beside another process that runs", function ()
    local said, status = testing.script([[
      local testing = require("testing.support")
      packet.allocate()
      local said, status = testing.script("packet.allocate() print('second')")
      print(said, status)]])
    assert.equal(0, status)
    assert.equal("second\n\t0\n", said)
  end)

  it("takes memory while no other process does, where there are hugepages", function ()
    local mark = os.tmpname()
    local said, status = testing.script([[
      local C = require("core.native")
      local eal = require("core.eal")
      local sysfs = require("lib.hardware.sysfs")
      local mark, first = ...
      eal.free_huge_mb = function () return 1 end -- there are some
      os.remove(mark)
      if not first then
        return eal.alone(function () assert(io.open(mark, "w")):close() end)
      end
      local me = require("posix.unistd").readlink("/proc/self/exe")
      local other
      eal.alone(function ()
        other = io.popen(me .. " run " .. arg[0] .. " " .. mark)
        C.pg_sleep(0.5)
        print("meanwhile", sysfs.exists(mark))
      end)
      other:close()
      print("then", sysfs.exists(mark))]], {}, {mark, "first"})
    os.remove(mark)
    assert.equal("meanwhile\tfalse\nthen\ttrue\n", said)
    assert.equal(0, status)
  end)

  it("passes --eal on", function ()
    local said, status = testing.script([[
      packet.allocate()
      print(require("core.native").pg_port_count())]],
      {"--eal", "--vdev=net_null7 --vdev=net_null8"})
    assert.equal(0, status)
    assert.equal("2\n", said)
  end)

  it("addresses memory virtually where asked, unless the user says otherwise",
     function ()
    assert.not_matches("iova", plan())
    eal.use_virtual_addresses() -- EAL runs already: this changes only the plans below
    assert.matches(" %-%-iova%-mode va ", plan({}, 128))
    assert.not_matches(" va ", plan{"--iova-mode=pa"})
  end)

  it("reads the CPUs as the kernel writes them", function ()
    assert.matches("^%d[%d,%-]*$", eal.cpus())
  end)
end)
