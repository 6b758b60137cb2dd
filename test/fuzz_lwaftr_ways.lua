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
local ways = require("testing.lwaftr_ways")

local BURSTS, SEED = tonumber(main.parameters[1] or 1000),
  tonumber(main.parameters[2] or 1)
local MOST = tonumber(main.parameters[3] or 40) -- packets in a burst
-- Then there is a new graph: fragments that wait for others are given up after a
-- minute, not at the same moment on both ways.
local BURSTS_OF_A_GRAPH = 500

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

-- Packets that haven't gone the slow way since ways.configure().
local function went_fast()
  local inet, b4 = engine.app_table.inet_fast, engine.app_table.b4_fast
  return inet and tonumber(counter.read(inet.shm["out-ipv6-packets"])
    + counter.read(b4.shm["in-ipv6-packets"])) or 0
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

local function hex(text)
  return (text:gsub(".", function (c) return ("%02x"):format(c:byte()) end))
end

-- What came out of one way, and its counters, as lines.
local function outcome(way)
  local lines = {}
  ways.take(way, function (side, p)
    without_identification(p)
    lines[#lines + 1] = side .. " " .. ffi.string(p.data, p.length)
  end)
  for name, value in pairs(ways.sums(way)) do
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

math.randomseed(SEED)
local seeds, sent = frames.seeds(), 0
for i, variant in ipairs(VARIANTS) do
  local fast = 0
  for burst = 1, math.ceil(BURSTS / #VARIANTS) do
    if burst % BURSTS_OF_A_GRAPH == 1 then
      fast = fast + went_fast()
      ways.configure(variant)
    end
    local what = {}
    for _ = 1, math.random(MOST) do
      local frame = frames.mutated(seeds[math.random(#seeds)])
      local name = frame:byte(13) == 0x86 and "v6" or "v4"
      if math.random(20) == 1 then name = name == "v4" and "v6" or "v4" end
      ways.send(name, frame)
      what[#what + 1] = {name, frame}
    end
    sent = sent + #what
    ways.breathe()
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
