-- SPDX-License-Identifier: Apache-2.0
-- Runs the example in the README of each app, in a network namespace with a pair of
-- veth interfaces where it needs one, and with the null port for a card.

local process = require("core.lib.process")
local testing = require("testing.support")
local unistd = require("posix.unistd")
local main = require("core.main")

local function example(folder)
  local file
  for _, root in ipairs{"src", "snabb"} do
    file = file or io.open(("%s/%s/apps/%s/README.md"):format(main.root, root, folder))
  end
  local text = file:read("*a")
  file:close()
  local code = text:match("```lua\n(.-)```")
  assert(code, "no example in " .. folder)
  return code
end

local SETUP = "unshare -n -m sh -c 'mount -t sysfs sysfs /sys"
  .. " && ip link add veth0 type veth peer name veth1"
  .. " && ip link set veth0 up && ip link set veth1 up && exec %s'"

local function run(folder, in_namespace)
  local script = testing.temporary(example(folder))
  local perigee = assert(unistd.readlink("/proc/self/exe"))
  local command = ("%s --port 0000:01:00.0=null --eal --vdev=net_null0 run %s")
    :format(perigee, script)
  if in_namespace then command = SETUP:format(command) end
  local pipe = io.popen(command .. " 2>&1; echo \"status $?\"")
  local said = pipe:read("*a")
  pipe:close()
  os.remove(script)
  return said
end

local function can_unshare()
  return unistd.geteuid() == 0 and unistd.access("/dev/net/tun", "rw") == 0
    and process.succeeds("unshare -n -m true 2>/dev/null")
end

describe("the example in the README of #slow", function()
  for _, folder in ipairs {"intel", "intel_mp", "intel_avf", "mellanox", "solarflare",
    "virtio_net", "port", "dpdk_device"} do
    it("apps/" .. folder .. " moves packets", function()
      local said = run(folder, false)
      assert.matches("status 0\n$", said)
      assert.matches("[%d,]+,%d%d%d sent on nic", said)
    end)
  end

  for folder, link in pairs {basic = "third.output -> a.input",
    fwd = "fwd.output -> sink.input"} do
    it("apps/" .. folder .. " moves packets", function()
      local said = run(folder, false)
      assert.matches("status 0\n$", said)
      assert.matches("[%d,]+,%d%d%d sent on " .. link:gsub("%p", "%%%0"), said)
    end)
  end

  it("apps/vhost runs", function()
    os.remove("/tmp/vm.sock")
    assert.matches("status 0\n$", run("vhost", false))
  end)

  for _, folder in ipairs {"tap", "socket", "xdp"} do
    it("apps/" .. folder .. " runs", function()
      if not can_unshare() then
        pending("needs root and /dev/net/tun")
      else
        assert.matches("status 0\n$", run(folder, true))
      end
    end)
  end
end)
