-- SPDX-License-Identifier: Apache-2.0
-- Is the lwAFTR ready for packets? Once the next hops of all its queues are known, and
-- until it is drained or ends. It is noted in a file of the process's directory in
-- shared memory, and in one that users name: that is there only while it is ready.

local failure = require("core.failure")
local objects = require("lib.observe.objects")
local outside = require("core.outside.visitors")
local shm = require("core.shm")
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")
local values = require("apps.lwaftr.conf_values")

local readiness = {}

--- The file's name, in a process's directory. It has a line for the state, and one for
--- each queue, DEVICE/NUMBER.
readiness.NAME = "lwaftr.state"
--- What it says of one that is ready.
readiness.READY = "ready"

local INTERVAL = 0.1 -- seconds

local SIDES = {
  {interface = "external_interface", app = "arp", address = values.ipv4,
    counter = "next-hop-macaddr-v4"},
  {interface = "internal_interface", app = "ndp", address = values.ipv6,
    counter = "next-hop-macaddr-v6"},
}

-- The address of a next hop whose MAC address isn't known, or nil.
local function unresolved(queue, side)
  local hop = queue.settings[side.interface].next_hop
  if hop.mac then return nil end
  local path = ("apps/%s%s/%s.counter"):format(side.app, queue.suffix, side.counter)
  local mac = objects.read(shm.path(path))
  if mac and mac ~= 0 then return nil end
  return side.address.write(hop.ip)
end

-- What the lwAFTR with these queues says of itself.
local function state(list, draining)
  if draining then return "draining" end
  if #list == 0 then return "it has no instance" end
  local missing = {}
  for _, queue in ipairs(list) do
    for _, side in ipairs(SIDES) do missing[#missing + 1] = unresolved(queue, side) end
  end
  if #missing == 0 then return readiness.READY end
  return "waiting for the MAC address of " .. table.concat(missing, ", ")
end

local function write(path, text, private)
  local file, problem = io.open(path .. ".new", "w")
  if not file then return nil, problem end
  if private then tree.protect(path .. ".new") end
  file:write(text, "\n")
  file:close()
  return os.rename(path .. ".new", path)
end

local Readiness = {}
Readiness.__index = Readiness

--- Tell of the `router` (program.lwaftr.router) from now on, and in the file `path`, if
--- that isn't nil. Raises a failure if it can't be written.
function readiness.of(router, path)
  local o = setmetatable({router = router, path = path, next = 0}, Readiness)
  if path then
    local ok, problem = write(path, "")
    if not ok then failure.raise("--ready-file: %s", problem) end
    unistd.unlink(path)
  end
  shm.mkdir(shm.resolve("engine"))
  o:look()
  outside.let_in{tend = function (now) o:tend(now) end,
                 leave = function () o:leave() end}
  return o
end

function Readiness:look()
  local now = state(self.router.list, self.draining)
  if now == self.told and self.router.list == self.list then return end
  self.told, self.list = now, self.router.list
  local lines = {now}
  for i, queue in ipairs(self.list) do
    lines[i + 1] = ("%s/%d"):format(queue.device, queue.id)
  end
  write(shm.path(readiness.NAME), table.concat(lines, "\n"), true)
  if not self.path then return end
  if now == readiness.READY then
    local ok, problem = write(self.path, now)
    if not ok then io.stderr:write("perigee: --ready-file: ", problem, "\n") end
  else
    unistd.unlink(self.path)
  end
end

--- Be ready no more, though packets go on, so that neighbours can be told to send
--- theirs elsewhere; or be ready again.
function Readiness:drain(on)
  self.draining = on
  self:look()
end

function Readiness:tend(now)
  if now < self.next then return end
  self.next = now + INTERVAL
  self:look()
end

function Readiness:leave()
  if self.path then unistd.unlink(self.path) end
end

return readiness
