-- SPDX-License-Identifier: Apache-2.0
-- Mutated packets, in bursts, through two lwAFTRs side by side: one with the fast ways,
-- one without. What they send and count must be the same.
--
--     perigee run test/fuzz_lwaftr_ways.lua BURSTS [SEED [MOST-PACKETS-OF-A-BURST]]
local root = require("core.main").root
package.path = root .. "/test/lua/?.lua;" .. package.path

local counter = require("core.counter")
local ffi = require("ffi")
local frames = require("testing.lwaftr_frames")
local graph = require("apps.lwaftr.graph")
local link = require("core.link")
local packet = require("core.packet")
local reader = require("apps.lwaftr.conf_reader")

local BURSTS, SEED = tonumber(main.parameters[1] or 1000),
  tonumber(main.parameters[2] or 1)
local BREATHS = 6 -- until a burst has come out, hairpinned errors and all
local MOST = tonumber(main.parameters[3] or 40) -- packets in a burst
-- Then there is a new graph: fragments that wait for others are given up after a minute,
-- not at the same moment on both ways.
local BURSTS_OF_A_GRAPH = 500
local WAYS = {"_slow", "_fast"}

-- Settings of the external and the internal interface, and of their queues.
local VARIANTS = {
  {"", ""},
  {"allow-incoming-icmp false;", "allow-incoming-icmp false;"},
  {"generate-icmp-errors false;", "generate-icmp-errors false; hairpinning false;"},
  {"mtu 500;", "mtu 1280; flow-label 77;"},
  {"ingress-filter 'ip and udp'; egress-filter 'not port 53';",
    "ingress-filter 'ip6 and len < 700'; egress-filter 'len > 70';"},
  {"", "", unresolved = true},
}

-- What is sent and taken by the test itself.
local Idle = {}
Idle.__index = Idle
function Idle.new() return setmetatable({}, Idle) end

local function configuration(variant)
  local text = frames.CONF:format(variant[1], variant[2])
  if variant.unresolved then
    text = text:gsub("mac 02:99:99:99:99:04;", "ip 10.0.1.2;")
      :gsub("mac 02:99:99:99:99:06;", "ip fc00::1;")
  end
  return reader.text(text)
end

local function configure(variant)
  local c, conf = config.new(), configuration(variant)
  for _, way in ipairs(WAYS) do
    config.app(c, "ends" .. way, Idle)
    graph.add(c, conf, {suffix = way, fast = way == "_fast",
      v4 = {"ends" .. way .. ".v4", "ends" .. way .. ".v4"},
      v6 = {"ends" .. way .. ".v6", "ends" .. way .. ".v6"}})
  end
  engine.configure(config.new()) -- so that all counters begin anew
  engine.configure(c)
end

-- Packets that haven't gone the slow way since configure().
local function went_fast()
  local inet, b4 = engine.app_table.inet_fast, engine.app_table.b4_fast
  return inet and tonumber(counter.read(inet.shm["out-ipv6-packets"])
    + counter.read(b4.shm["in-ipv6-packets"])) or 0
end

-- Of the apps of one way: the sums by name.
local function sums(way)
  local result = {}
  for name, app in pairs(engine.app_table) do
    if name:sub(-#way) == way then
      for key, object in pairs(app.shm or {}) do
        if type(key) == "string" and ffi.istype("struct counter", object)
          and not key:match("^next%-hop") and key ~= "dtime" and key ~= "rxerrors" then
          result[key] = (result[key] or 0) + tonumber(counter.read(object))
        end
      end
    end
  end
  return result
end

-- Fragments get their identification in the order in which they are made, which isn't
-- the same: fast packets overtake slow ones.
local function without_identification(p)
  local data, length = p.data, p.length
  if length >= 62 and data[12] == 0x86 and data[20] == 44 then
    ffi.fill(data + 58, 4)
  elseif length >= 34 and data[12] == 8 and (data[20] % 64 ~= 0 or data[21] ~= 0) then
    ffi.fill(data + 18, 2)
    ffi.fill(data + 24, 2) -- the header's checksum
  end
end

local function taken(l, list)
  while not link.empty(l) do
    local p = link.receive(l)
    without_identification(p)
    list[#list + 1] = ffi.string(p.data, p.length)
    packet.free(p)
  end
end

local function hex(text)
  return (text:gsub(".", function (c) return ("%02x"):format(c:byte()) end))
end

-- What came out of one way, and its counters, as lines.
local function outcome(way)
  local app, lines = engine.app_table["ends" .. way], {}
  for _, name in ipairs{"v4", "v6"} do
    local list = {}
    taken(app.input[name], list)
    for _, frame in ipairs(list) do lines[#lines + 1] = name .. " " .. frame end
  end
  for name, value in pairs(sums(way)) do
    if value ~= 0 then lines[#lines + 1] = ("%s %d"):format(name, value) end
  end
  return lines
end

local function differences(a, b)
  local only = {}
  for _, line in ipairs(a) do only[line] = (only[line] or 0) + 1 end
  for _, line in ipairs(b) do only[line] = (only[line] or 0) - 1 end
  local lines = {}
  for line, n in pairs(only) do
    if n ~= 0 then
      local name, frame = line:match("^(v%d) (.*)$")
      lines[#lines + 1] = (n > 0 and "slow: " or "fast: ")
        .. (frame and name .. " " .. hex(frame) or line)
    end
  end
  table.sort(lines)
  return lines
end

local function send(name, frame)
  for _, way in ipairs(WAYS) do
    link.transmit(engine.app_table["ends" .. way].output[name],
      packet.from_string(frame))
  end
end

math.randomseed(SEED)
local seeds, sent = frames.seeds(), 0
for i, variant in ipairs(VARIANTS) do
  local fast = 0
  for burst = 1, math.ceil(BURSTS / #VARIANTS) do
    if burst % BURSTS_OF_A_GRAPH == 1 then
      fast = fast + went_fast()
      configure(variant)
    end
    local what = {}
    for _ = 1, math.random(MOST) do
      local frame = frames.mutated(seeds[math.random(#seeds)])
      local name = frame:byte(13) == 0x86 and "v6" or "v4"
      if math.random(20) == 1 then name = name == "v4" and "v6" or "v4" end
      send(name, frame)
      what[#what + 1] = {name, frame}
    end
    sent = sent + #what
    for _ = 1, BREATHS do engine.breathe() end
    local lines = differences(outcome("_slow"), outcome("_fast"))
    if #lines > 0 then
      print(("variant %d, burst %d: differences"):format(i, burst))
      print(table.concat(lines, "\n"))
      print("sent:")
      for _, each in ipairs(what) do print(each[1] .. " " .. hex(each[2])) end
      main.exit(1)
    end
  end
  fast = fast + went_fast()
  engine.configure(config.new())
  print(("variant %d: %d packets went the fast ways"):format(i, fast))
end
print(("%d packets compared, 0 differences"):format(sent))
