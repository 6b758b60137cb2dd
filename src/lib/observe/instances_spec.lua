-- SPDX-License-Identifier: Apache-2.0
-- Instances in a made-up /proc and shared memory.

local fake_tree = require("testing.fake_tree")
local instances = require("lib.observe.instances")
local process = require("lib.observe.process")
local ps = require("program.ps.ps")
local quantity = require("lib.quantity")
local unistd = require("posix.unistd")

-- /proc/PID/stat: field 14 and 15 are CPU time, 22 the start, all in ticks.
local function stat_line(pid, name, state, utime, stime, start)
  return ("%d (%s) %s 1 2 3 4 5 6 7 8 9 10 %d %d 13 14 15 16 17 18 %d 20\n")
    :format(pid, name, state, utime, stime, start)
end

describe("instances", function ()
  local tree, roots, proc
  before_each(function ()
    tree = fake_tree.new()
    roots, proc = {tree.base .. "/shm"}, tree.roots.proc
    tree.write("proc/uptime", "1000.50 900.00\n")
  end)
  after_each(function () tree.remove() end)

  local ticks = unistd.sysconf(unistd._SC_CLK_TCK)

  local function run(pid, cmdline, state)
    tree.write(("proc/%d/stat"):format(pid),
      stat_line(pid, "a (b) c", state or "R", 30 * ticks, 20 * ticks, 900.5 * ticks))
    tree.write(("proc/%d/cmdline"):format(pid), cmdline)
    tree.write(("shm/%d/engine/breaths.counter"):format(pid), ("\0"):rep(8))
  end

  it("are processes with a directory, that run", function ()
    run(20, "/x/perigee\0--cpus\0" .. "0-1\0echo\0null\0")
    tree.write("shm/20/program", "echo\n")
    run(3, "./snabb\0lwaftr\0run\0")
    run(4, "snabb\0", "Z")
    tree.write("shm/5/engine/breaths.counter", "")
    run(6, "perigee\0")
    run(7, "/usr/bin/python3\0x\0")
    run(8, "/usr/local/bin/perigee-capture\0null\0x\0")
    tree.link(tree.base .. "/shm/20", "shm/by-name/router")
    tree.link(tree.base .. "/shm/20/group", "shm/6/group")
    local list = instances.list(roots, proc)
    local seen = {}
    for _, i in ipairs(list) do
      seen[#seen + 1] = ("%d %s %s %s"):format(i.pid, i.program, i.name or "-",
        i.leader or "-")
    end
    assert.same({"3 lwaftr - -", "6 worker - 20", "7 python3 - -", "8 capture - -",
                 "20 echo router -"}, seen)
  end)

  it("are found by id, name and program", function ()
    run(20, "perigee\0echo\0null\0")
    run(21, "perigee\0echo\0null\0")
    run(22, "perigee\0replay\0")
    run(23, "perigee\0run\0dir/graph.lua\0")
    tree.write("shm/23/program", "run graph.lua\n")
    tree.link("../20", "shm/by-name/router")
    local list = instances.list(roots, proc)
    assert.equal(20, instances.find(list, "router").pid)
    assert.equal(21, instances.find(list, "21").pid)
    assert.equal(22, instances.find(list, "replay").pid)
    for _, text in ipairs{"run", "graph.lua", "run graph.lua"} do
      assert.equal(23, instances.find(list, text).pid)
    end
    for text, sentence in pairs{
      echo = "'echo' runs 2 times; give one of the process ids 20, 21",
      ["7"] = "there is no running instance '7'; `perigee ps` lists those there are",
    } do
      local ok, err = pcall(instances.find, list, text)
      assert.is_false(ok)
      assert.equal(sentence, tostring(err))
    end
  end)

  it("have times", function ()
    run(20, "perigee\0echo\0")
    local cpu, uptime = process.times(20, proc)
    assert.equal(50, cpu)
    assert.equal(100, uptime)
    local list = ps.with_times(instances.list(roots, proc), proc)
    assert.equal(
      "PID      PROGRAM          NAME                    CPU   UPTIME  CONTROL\n"
      .. "20       echo             -                       50%    1m40s  -\n",
      ps.text(list))
    list[2] = {pid = 99}
    assert.equal(1, #ps.with_times(list, proc))
  end)

  it("print durations", function ()
    for text, s in pairs{["0s"] = 0.9, ["59s"] = 59, ["1m00s"] = 60, ["2h03m"] = 7383,
                         ["1d01h"] = 90000} do
      assert.equal(text, quantity.duration_text(s))
    end
  end)

  it("of this machine don't include this process", function ()
    local list = instances.list()
    assert.is_table(list)
    for _, instance in ipairs(list) do
      assert.are_not.equal(unistd.getpid(), instance.pid)
    end
  end)
end)
