-- SPDX-License-Identifier: Apache-2.0
-- Threads of Perigee's own leave to a handler what they cause themselves (signals.h).

local testing = require("testing.support")
local walk = require("core.lib.walk")

local SIGBUS, SIGINT = 7, 2

-- Prints for each thread of a process with a worker, a watchdog, memif's and
-- virtio-user's threads, a loader and a keeper: its name and blocked signals.
local SCRIPT = [[
  local dirent = require("posix.dirent")
  local affinity = require("core.cpus.affinity")
  local folder = assert(require("posix.stdlib").mkdtemp("/tmp/perigee-spec-XXXXXX"))
  local Port = require("apps.port.port").Port
  local Sink = require("apps.basic.basic_apps").Sink
  local C = require("core.native")
  C.pg_watchdog(60)
  local c = config.new()
  for i, port in ipairs{"memif:" .. folder .. "/a,role=server",
                        "virtio-user:" .. folder .. "/b,server=1", "null"} do
    config.app(c, "port" .. i, Port, port)
    config.app(c, "sink" .. i, Sink)
    config.link(c, ("port%d.output -> sink%d.input"):format(i, i))
  end
  config.cpu(c, "port3", affinity.cpus()[1])
  engine.configure(c)
  local function line(path, pattern)
    local file = io.open(path)
    local found = file and file:read("*a"):match(pattern)
    if file then file:close() end
    return found
  end
  for id in dirent.files("/proc/self/task") do
    local path = "/proc/self/task/" .. id
    local blocked = id:match("%d") and line(path .. "/status", "SigBlk:%s*(%x+)")
    if blocked then print(line(path .. "/comm", "[^\n]*"), blocked) end
  end
  engine.configure(config.new())
  os.execute("rm -r " .. folder)
]]

local function is_blocked(mask, signal)
  return math.floor(tonumber(mask:sub(-8), 16) / 2 ^ (signal - 1)) % 2 == 1
end

describe("threads", function ()
  it("don't block SIGBUS, and leave SIGINT to the main one", function ()
    local said, status = testing.script(SCRIPT, {"--eal", "--no-huge"})
    assert.equal(0, status, said)
    local ours = {}
    for name, mask in said:gmatch("([^\t\n]+)\t(%x+)\n") do
      assert.is_false(is_blocked(mask, SIGBUS), said)
      if is_blocked(mask, SIGINT) then ours[name] = true end
    end
    for _, name in ipairs{"watchdog", "virtio-user", "memif"} do
      assert.is_true(ours[name], name .. " isn't there:\n" .. said)
    end
  end)

  it("are all made with the same signals", function ()
    local others = {}
    for _, room in ipairs{"src", "moongen", "click", "snabb"} do
      walk.files(testing.folder .. "/../../" .. room, function (path)
        if not path:match("%.c$") then return end
        local file = assert(io.open(path))
        local text = file:read("*a")
        file:close()
        if text:find("pthread_create%(") and text:find("sigfillset", 1, true) then
          others[#others + 1] = path
        end
      end)
    end
    assert.same({}, others)
  end)
end)
