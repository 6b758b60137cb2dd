-- SPDX-License-Identifier: Apache-2.0
-- For specs and tests of many cores: apps that workers can load, a source of numbered
-- packets of flows, and sinks that check their order and sum up their bytes.

local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local counter = require("core.counter")
local link = require("core.link")
local packet = require("core.packet")
local Port = require("apps.port.port").Port
local shm = require("core.shm")

local testing = {}

local nreadable, receive, transmit = link.nreadable, link.receive, link.transmit

local function class()
  local c = {}
  c.__index = c
  return c
end

local SIZE = 60
local header_t = ffi.typeof(
  "struct { uint32_t flow, number; } __attribute__((packed)) *")
local AT = 34 -- where UDP's ports would be, behind Ethernet's and IPv4's headers

-- A source of `packets` packets of `flows` flows in turn, each with its number in the
-- flow; as IPv4 and UDP, so that a hash of addresses and ports tells flows apart.
-- `burst` (default 100) are sent in a breath.
testing.Flows = class()

function testing.Flows:new(arg)
  local frame = ffi.new("uint8_t[?]", SIZE)
  frame[12], frame[13], frame[14], frame[23] = 0x08, 0x00, 0x45, 17
  return setmetatable({left = arg.packets, flows = arg.flows, flow = 0, number = 0,
    burst = arg.burst or 100, frame = frame, shm = {sent = {counter}}}, self)
end

local function emit(self, output, n)
  for _ = 1, n do
    local p = packet.from_pointer(self.frame, SIZE)
    local h = ffi.cast(header_t, p.data + AT)
    h.flow, h.number = self.flow, self.number
    ffi.cast(header_t, p.data + 26).flow = self.flow * 7
    self.flow = self.flow + 1
    if self.flow == self.flows then self.flow, self.number = 0, self.number + 1 end
    transmit(output, p)
  end
end

function testing.Flows:pull()
  local output = self.output.output
  if not output then return end
  local n = math.min(self.burst, self.left, tonumber(link.nwritable(output)))
  emit(self, output, n)
  self.left = self.left - n
  counter.add(self.shm.sent, n)
end

-- Counts packets, adds up their CRCs, and counts those out of order in their flow.
testing.Check = class()

function testing.Check:new(arg)
  return setmetatable({next = ffi.new("uint32_t[?]", arg.flows), flows = arg.flows,
    shm = {received = {counter}, sum = {counter}, mixed_up = {counter},
           lost = {counter}}}, self)
end

local function check(self, p)
  local h = ffi.cast(header_t, p.data + AT)
  local flow, number = h.flow, h.number
  local counters, expected = self.shm, self.next[flow]
  counter.add(counters.received)
  counter.add(counters.sum, C.pg_crc32c(p.data, p.length, 0))
  if number < expected then counter.add(counters.mixed_up) end
  if number > expected then counter.add(counters.lost, number - expected) end
  self.next[flow] = number + 1
end

local function check_all(self, input, n)
  for _ = 1, n do
    local p = receive(input)
    check(self, p)
    packet.free(p)
  end
end

function testing.Check:push()
  for i = 1, #self.input do
    check_all(self, self.input[i], nreadable(self.input[i]))
  end
end

-- Passes packets on as far as there is room, so that none is lost.
testing.Pass = class()

function testing.Pass:new(arg)
  return setmetatable({arg = arg, shm = {passed = {counter}}}, self)
end

function testing.Pass:reconfig(arg) self.arg = arg end

local function pass(input, output, n)
  for _ = 1, n do transmit(output, receive(input)) end
end

function testing.Pass:push()
  local input, output = self.input.input, self.output.output
  if not input or not output then return end
  local n = math.min(nreadable(input), tonumber(link.nwritable(output)))
  pass(input, output, n)
  counter.add(self.shm.passed, n)
end

-- Frees no more than `packets` in a breath: others wait in its input.
testing.Slow = class()

function testing.Slow:new(arg)
  return setmetatable({packets = arg.packets, shm = {received = {counter}}}, self)
end

local function free(input, n)
  for _ = 1, n do packet.free(receive(input)) end
end

function testing.Slow:push()
  local input = self.input.input
  local n = math.min(nreadable(input), self.packets)
  free(input, n)
  counter.add(self.shm.received, n)
end

-- Drops each third packet, by name.
testing.Thirds = class()
testing.Thirds.drops = {"third"}

function testing.Thirds:new() return setmetatable({n = 0}, self) end

function testing.Thirds:process(p)
  self.n = (self.n + 1) % 3
  if self.n == 0 then return nil, 1 end
  return p
end

-- A port that can't move without being closed.
testing.ClosingPort = setmetatable({}, {__index = Port})
testing.ClosingPort.__index = testing.ClosingPort

-- Takes it for granted that it has links, as many of Snabb's apps do.
testing.Trusting = class()

function testing.Trusting:new(arg)
  if arg == "broken" then error("this app can't be made") end
  return setmetatable({}, self)
end

function testing.Trusting:push()
  local input, output = self.input.input, self.output.output
  pass(input, output, math.min(nreadable(input), tonumber(link.nwritable(output))))
end

-- Like Pass, but doesn't start as many times as the file `path` says.
testing.Reluctant = class()
testing.Reluctant.push = testing.Pass.push

function testing.Reluctant:new(path)
  local file = assert(io.open(path, "r+"))
  local times = file:read("*n")
  file:seek("set")
  file:write(math.max(times - 1, 0))
  file:close()
  if times > 0 then error("this app doesn't start now") end
  return setmetatable({shm = {passed = {counter}}}, self)
end

-- Raises an error after so many packets.
testing.Failing = class()

function testing.Failing:new(arg)
  return setmetatable({left = arg.after, shm = {passed = {counter}}}, self)
end

function testing.Failing:push()
  local input, output = self.input.input, self.output.output
  for _ = 1, nreadable(input) do
    if self.left == 0 then error("that was one packet too many") end
    self.left = self.left - 1
    counter.add(self.shm.passed)
    local p = receive(input)
    if output then transmit(output, p) else packet.free(p) end
  end
end

--- What the app's counter in shared memory shows, a number.
function testing.counted(app, name)
  local path = ("apps/%s/%s.counter"):format(app, name)
  local ok, c = pcall(shm.open, path, "struct counter", "readonly")
  if not ok then return 0 end
  local value = tonumber(c.c)
  shm.unmap(c)
  return value
end

return testing
