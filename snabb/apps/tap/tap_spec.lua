-- SPDX-License-Identifier: Apache-2.0
-- Tap's MTU rules. Each case runs in a process of its own, in a network namespace that
-- ends with it.

local process = require("core.lib.process")
local unistd = require("posix.unistd")

local function can_unshare()
  return unistd.geteuid() == 0 and unistd.access("/dev/net/tun", "rw") == 0
    and process.succeeds("unshare -n -m true 2>/dev/null")
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
  local command = ("unshare -n -m sh -c 'mount -t sysfs sysfs /sys && "
    .. "{ [ -w /proc/sys/net ] || mount -t proc proc /proc; } && %s && exec %s run %s'"
    .. " 2>/dev/null"):format(setup, perigee, script)
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

  -- Packets of these first bytes, once each, from an app "source".
  local SOURCE = [[
    local Source = {}
    Source.__index = Source
    function Source:new(list) return setmetatable({list = list}, Source) end
    function Source:pull()
      while #self.list > 0 do
        link.transmit(self.output.output,
          packet.from_string(table.remove(self.list, 1) .. ("x"):rep(54)))
      end
    end
    local function read(path)
      local file = assert(io.open(path))
      return (file:read("*l"))
    end
    local FRAMES = {"\2\0\0\0\0\9", "\2\0\0\0\0\9", "\2\0\0\0\0\9",
      "\1\0\94\0\0\1", "\51\51\0\0\0\1", ("\255"):rep(6)}
  ]]
  local QUIET = "sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 "
    .. "net.ipv6.conf.default.disable_ipv6=1 >/dev/null && ip link set lo up"

  it("sends to the interface's own address where asked to #slow", function ()
    assert.equal("true\ttrue\n0\t1\t1\n", run(QUIET, SOURCE .. [[
      local Other = {}
      Other.__index = Other
      function Other:new() return setmetatable({seen = {}}, Other) end
      function Other:push()
        while not link.empty(self.input.input) do
          local p = link.receive(self.input.input)
          self.seen[#self.seen + 1] = require("ffi").string(p.data, 6)
          packet.free(p)
        end
      end
      local c = config.new()
      config.app(c, "source", Source, {FRAMES[1], FRAMES[6]})
      config.app(c, "tee", require("apps.basic.basic_apps").Tee)
      config.app(c, "other", Other)
      config.app(c, "tap", Tap, {name = "t0", overwrite_dst_mac = true,
        forwarding = true})
      config.link(c, "source.output -> tee.input")
      config.link(c, "tee.a -> tap.input")
      config.link(c, "tee.b -> other.input")
      engine.configure(c)
      local pipe = io.popen("tcpdump -c 2 -eni t0 2>&1")
      while not pipe:read("*l"):find("listening on") do end
      engine.main{duration = 0.3, no_report = true}
      local _, n = pipe:read("*a"):gsub(" > " .. read("/sys/class/net/t0/address"), "")
      local seen = engine.app_table.other.seen
      print(n == 2, seen[1] == FRAMES[1] and seen[2] == FRAMES[6])
      local conf = "/proc/sys/net/ipv4/conf/t0/"
      print(read(conf .. "rp_filter"), read(conf .. "accept_local"),
        read(conf .. "forwarding"))]]))
  end)

  it("tells what Snabb's interface MIB has #slow", function ()
    local said = run(QUIET, SOURCE .. [[
      local c = config.new()
      config.app(c, "source", Source, {unpack(FRAMES)})
      config.app(c, "tap", Tap, {name = "t0", mtu = 1400})
      config.app(c, "sink", require("apps.basic.basic_apps").Sink)
      config.link(c, "source.output -> tap.input")
      config.link(c, "tap.output -> sink.input")
      engine.configure(c)
      config.app(c, "kernel", require("apps.socket.raw").RawSocket, "t0")
      config.app(c, "source2", Source, {unpack(FRAMES, 3)})
      config.app(c, "sink2", require("apps.basic.basic_apps").Sink)
      config.link(c, "source2.output -> kernel.rx")
      config.link(c, "kernel.tx -> sink2.input")
      engine.configure(c)
      local shm, counter = engine.app_table.tap.shm, require("core.counter")
      local function done()
        return counter.read(shm.txpackets) >= 6 and counter.read(shm.rxpackets) >= 4
      end
      engine.main{done = done, no_report = true}
      for _, name in ipairs{"type", "speed", "mtu", "status", "txpackets", "txmcast",
          "txbcast", "rxpackets", "rxmcast", "rxbcast"} do
        io.write(name, " ", tostring(tonumber(counter.read(shm[name]))), " ")
      end
      local mac = require("lib.macaddress"):new(read("/sys/class/net/t0/address"))
      print(counter.read(shm.macaddr) == mac.bits)]])
    assert.equal("type 4097 speed 0 mtu 1400 status 1 txpackets 6 txmcast 3 txbcast 1 "
      .. "rxpackets 4 rxmcast 3 rxbcast 1 true\n", said)
  end)
end)
