-- SPDX-License-Identifier: Apache-2.0
-- snsh test/snabb_lifted.lua: random packets through apps of a Snabb checkout, fused as
-- they are and between links. Prints the apps that were fused, and ends with an error
-- where the packets that come out differ.

local Idle = {new = function () return {} end}

local function frame(kind)
  local bytes = {}
  for i = 1, math.random(24, 90) do bytes[i] = string.char(math.random(0, 255)) end
  if kind < 3 then
    bytes[13], bytes[14] = "\8", "\0"
    bytes[24] = kind == 1 and "\17" or "\6"
    bytes[15] = "\69"
  elseif kind == 3 then
    bytes[13], bytes[14], bytes[15], bytes[16] = "\129", "\0", "\0", "\7"
  end
  return table.concat(bytes)
end

local function run(apps, bursts)
  local c, from = config.new(), "start.output"
  config.app(c, "start", Idle)
  config.app(c, "stop", Idle)
  for i, app in ipairs(apps) do
    config.app(c, "app" .. i, app[2], app[3])
    config.link(c, ("%s -> app%d.input"):format(from, i))
    from = ("app%d.output"):format(i)
  end
  config.link(c, from .. " -> stop.input")
  engine.configure(config.new())
  engine.configure(c)
  local list = {}
  local first = engine.link_table["start.output -> app1.input"]
  local last = engine.link_table[from .. " -> stop.input"]
  for _, burst in ipairs(bursts) do
    for _, text in ipairs(burst) do link.transmit(first, packet.from_string(text)) end
    engine.breathe()
    while not link.empty(last) do
      local p = link.receive(last)
      list[#list + 1] = require("ffi").string(p.data, p.length)
      packet.free(p)
    end
  end
  local fused = 0
  for _, region in ipairs(engine.regions) do
    fused = fused + #region.description.apps
  end
  return list, fused
end

local basic, vlan = require("apps.basic.basic_apps"), require("apps.vlan.vlan")
local PcapFilter = require("apps.packet_filter.pcap_filter").PcapFilter
local RateLimiter = require("apps.rate_limiter.rate_limiter").RateLimiter
local fast = {rate = 1e12, bucket_capacity = 1e12}
local few = {rate = 0, bucket_capacity = 9000}

local function fresh(arg)
  local copy = {}
  for key, value in pairs(arg) do copy[key] = value end
  return copy
end

local function chains()
  return {
    {{"Tagger", vlan.Tagger, {tag = 7}}, {"Untagger", vlan.Untagger, {tag = 7}}},
    {{"Untagger", vlan.Untagger, {tag = 7}}, {"Truncate", basic.Truncate, 20}},
    {{"PcapFilter", PcapFilter, {filter = "ip and udp"}},
      {"Sample", basic.Sample, 3}},
    {{"RateLimiter", RateLimiter, fresh(few)}, {"Tagger", vlan.Tagger, {tag = 9}}},
    {{"RateLimiter", RateLimiter, fresh(fast)}, {"PcapFilter", PcapFilter,
      {filter = "tcp or udp"}}, {"Tagger", vlan.Tagger, {tag = 7}},
      {"Untagger", vlan.Untagger, {tag = 7}}, {"Sample", basic.Sample, 2}},
  }
end

math.randomseed(tonumber(main.parameters[1]) or 1)
local bursts = {}
for i = 1, 30 do
  bursts[i] = {}
  for k = 1, math.random(0, 200) do bursts[i][k] = frame(math.random(1, 4)) end
end
for i, apps in ipairs(chains()) do
  local names = {}
  for k, app in ipairs(apps) do names[k] = app[1] end
  engine.lift = true
  local fused, n = run(apps, bursts)
  for name, why in pairs(engine.not_fused) do
    if name:match("^app") then error(("%s isn't fused: %s"):format(name, why)) end
  end
  engine.lift = false
  local apart, none = run(chains()[i], bursts)
  assert(n == #apps and none == 0 and #apart > 20)
  assert(#apart == #fused, "different numbers of packets")
  for k, text in ipairs(apart) do assert(text == fused[k], "packets differ") end
  print(table.concat(names, " "), #apart)
end
