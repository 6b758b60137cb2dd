-- SPDX-License-Identifier: Apache-2.0
-- Tap's MTU rules. Each case runs in a process of its own, in a network namespace that
-- ends with it.

local unistd = require("posix.unistd")

local function can_unshare()
  return unistd.geteuid() == 0 and unistd.access("/dev/net/tun", "rw") == 0
    and os.execute("unshare -n -m true 2>/dev/null") == 0
end

-- What Lua `code` prints in a namespace where `setup` (a shell command) has run.
local function run(setup, code)
  local script = os.tmpname()
  local file = assert(io.open(script, "w"))
  file:write([[
    local Tap = require("apps.tap.tap").Tap
    local function mtu(name)
      return require("lib.hardware.interfaces").details(name).mtu
    end
    local function start(arg)
      local c = config.new()
      config.app(c, "tap", Tap, arg)
      local ok, err = pcall(engine.configure, c)
      if not ok then print(err) end
    end
  ]], code)
  file:close()
  local perigee = assert(unistd.readlink("/proc/self/exe"))
  local command = ("unshare -n -m sh -c 'mount -t sysfs sysfs /sys && %s && exec %s"
    .. " run %s' 2>/dev/null"):format(setup, perigee, script)
  local pipe = io.popen(command)
  local text = pipe:read("*a")
  pipe:close()
  os.remove(script)
  return text
end

describe("apps.tap", function()
  if not can_unshare() then
    pending("needs root and /dev/net/tun")
    return
  end

  it("makes an interface with the MTU that 1,514 bytes of frame leave", function()
    assert.matches("^1500\n", run("true", "start('t0') print(mtu('t0'))"))
  end)

  it("sets the MTU of the interface that it makes #slow", function()
    assert.matches("^9000\n1514\n", run("true", [[
      start {name = "t0", mtu = 9014}
      print(mtu("t0"))
      print(engine.app_table.tap.port.max_frame)]]))
    assert.matches("^1400\n",
      run("true", "start {name = 't0', mtu = 1400, mtu_fixup = false}"
        .. " print(mtu('t0'))"))
  end)

  local PERSISTENT = "ip tuntap add t0 mode tap multi_queue"
    .. " && ip link set t0 mtu 1400"

  it("takes an interface that has the MTU already, and leaves it there", function()
    assert.matches("^1400\n1400\n", run(PERSISTENT, [[
      start {name = "t0", mtu = 1414}
      print(mtu("t0"))
      engine.configure(config.new())
      print(mtu("t0"))]]))
  end)

  it("refuses an interface of another MTU", function()
    local said = run(PERSISTENT, "start 't0' print(mtu('t0'))")
    assert.matches("its MTU is 1400 and the argument asks for 1500", said)
    assert.matches("ip link set t0 mtu 1500", said)
    assert.matches("\n1400\n", said)
  end)

  it("refuses an MTU that it may not set on the interface that it makes", function()
    assert.matches("its MTU is 1500 and the argument asks for 1400",
      run("true", "start {name = 't0', mtu = 1414, mtu_set = false}"))
  end)

  it("changes the MTU of an interface that was there when asked to", function()
    assert.matches("^1500\n",
      run(PERSISTENT, "start {name = 't0', mtu_set = true} print(mtu('t0'))"))
  end)
end)
