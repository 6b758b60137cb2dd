-- SPDX-License-Identifier: Apache-2.0
-- Two VXLAN tunnel end points with a wire between them. Noise comes to one of them too.

local Sink = require("apps.basic.basic_apps").Sink
local run = require("doctor.run")
local traffic = require("doctor.traffic")
local vtep = require("apps.vtep.vtep")

local Frames = traffic.Frames

local graphs = {}

-- What a tunnel is linked to, at either end: its `input` goes to `out`, and what comes
-- from `wire` and `noise` to `output`.
local Plug = {}
Plug.__index = Plug

function Plug:new() return setmetatable({}, self) end

local function move(input, output, n)
  for _ = 1, n do link.transmit(output, link.receive(input)) end
end

function Plug:push()
  local input, output = self.input, self.output
  move(input.input, output.out, link.nreadable(input.input))
  for _, name in ipairs{"wire", "noise"} do
    local from = input[name]
    if from then move(from, output.output, link.nreadable(from)) end
  end
end

-- Frames of stations of one end to those of the other (and some to nobody, or to all),
-- in VLANs that have a VNI, and in one that has none; some too long.
local function inner(own, other)
  local frames = {}
  for i = 1, 1000 do
    local to = i % 17 == 0 and ("\255"):rep(6)
      or "\2\0\0\0" .. string.char(other, i % 23 == 0 and 200 + i % 50 or i % 64)
    local tag = i % 3 == 0 and "\129\0\0" .. string.char(i % 29 == 0 and 11 or 10) or ""
    local rest = traffic.mixed_frame(i):sub(13)
    if rest:sub(1, 2) == "\129\0" then rest = "\8\0" .. rest:sub(7) end
    frames[i] = to .. "\2\0\0\0" .. string.char(own, i % 64) .. tag .. rest
  end
  return frames
end

-- Packets to the end point that aren't from the other: of all kinds, and VXLAN's, good
-- and bad. Each station stays with one remote.
local function noise()
  local frames = traffic.mixed(true)
  for i = 7, #frames, 7 do
    local flags, vni = i % 5 == 0 and 0 or 8, i % 4 == 0 and 9 or 42
    local n = flags == 8 and vni == 42 and 5 * (1 + i % 3) or i
    local frame = "\2\0\0\0\9\9\2\0\0\0\9" .. string.char(i % 3) .. "\8\6"
    frames[i] = traffic.udp4(n, 4789, string.char(flags, 0, 0, 0, 0, 0, vni, 0)
      .. frame .. ("n"):rep(i % 100))
  end
  return frames
end

local ADDRESSES = {
  ["4"] = {a = "10.0.0.9/8", b = "10.0.1.1", lost = "10.0.1.2", bits = "/8"},
  ["6"] = {a = "fd00::9/64", b = "fd00::1:1", lost = "fd00::1:2", bits = "/64"},
}

--- `family`: "4" or "6".
function graphs.vtep(family)
  local at, c = ADDRESSES[family], config.new()
  local vnis, apps = {[42] = 0, [43] = 10}, {sink = {Sink}}
  local ends = {
    a = {address = at.a, mac = "02:00:00:00:00:02", vnis = vnis,
         remotes = {at.b, at.lost}},
    b = {address = at.b .. at.bits, mac = "02:00:00:00:00:03", vnis = vnis,
         remotes = {(at.a:gsub("/.*", ""))}, dscp = "copy", udp_checksum = true},
  }
  apps.frames_a, apps.frames_b = {Frames, inner(1, 2)}, {Frames, inner(2, 1)}
  apps.noise = {Frames, noise()}
  for name, arg in pairs(ends) do
    apps["inner_" .. name], apps["outer_" .. name] = {Plug}, {Plug}
    vtep.add(c, name, arg, "inner_" .. name, "outer_" .. name)
  end
  run(apps, {
    "frames_a.output -> inner_a.wire", "inner_a.out -> sink.a",
    "frames_b.output -> inner_b.wire", "inner_b.out -> sink.b",
    "outer_a.out -> outer_b.wire", "outer_b.out -> outer_a.wire",
    "noise.output -> outer_a.noise",
  }, c)
end

return graphs
