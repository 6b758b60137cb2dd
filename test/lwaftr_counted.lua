-- SPDX-License-Identifier: Apache-2.0
-- Frames of all kinds, cut off at each length, one by one through two lwAFTRs, with
-- the fast ways and without. Each comes out, or is answered, or counted as dropped, or
-- as a fragment that waits for others. Then so many first fragments that some are given
-- up: those, too, are counted.
--
--     perigee run test/lwaftr_counted.lua
local root = require("core.main").root
package.path = root .. "/test/lua/?.lua;" .. package.path

local frames = require("testing.lwaftr_frames")
local ways = require("testing.lwaftr_ways")

local LONGEST_CUT = 110 -- bytes: all headers, also of packets within errors
local SIZE = 24         -- bytes of a first fragment's payload

local before = {}

-- What became of what was sent: packets that came out, and how the counters changed.
local function outcome(way)
  local out, now, changes = 0, ways.sums(way), {}
  ways.take(way, function () out = out + 1 end)
  for name, value in pairs(now) do
    local change = value - (before[way][name] or 0)
    if change ~= 0 then changes[name] = change end
  end
  before[way] = now
  return out, changes
end

-- Where a packet is that didn't come out: how many are counted so.
local function counted(changes)
  local n = 0
  for name, change in pairs(changes) do
    local is_sum = name:match("^drop%-all%-") or name:match("%-bytes$")
    if name:match("^drop%-") and not is_sum or name:match("%-frag%-needs%-reassembly$")
      or name:match("^in%-arp%-") or name:match("^in%-ndp%-") then
      n = n + change
    end
  end
  return n
end

local function text_of(changes)
  local list = {}
  for name, change in pairs(changes) do list[#list + 1] = name .. " " .. change end
  table.sort(list)
  return table.concat(list, ", ")
end

local function hex(text)
  return (text:gsub(".", function (c) return ("%02x"):format(c:byte()) end))
end

local sent, lost = 0, 0

local function try(side, frame)
  sent = sent + 1
  ways.send(side, frame)
  ways.breathe()
  for _, way in ipairs(ways.NAMES) do
    local out, changes = outcome(way)
    if out + counted(changes) == 0 then
      lost = lost + 1
      if lost <= 10 then
        print(("not counted%s: %s %s: %s"):format(way, side, hex(frame),
          text_of(changes)))
      end
    end
  end
end

local function begin(settings)
  ways.configure(settings)
  for _, way in ipairs(ways.NAMES) do before[way] = ways.sums(way) end
end

local function cut_all(settings)
  begin(settings)
  for _, frame in ipairs(frames.short_seeds()) do
    local side = frame:byte(13) == 0x86 and "v6" or "v4"
    for n = 0, math.min(#frame, LONGEST_CUT) do try(side, frame:sub(1, n)) end
    try(side, frame)
  end
end

-- `n` first fragments of packets from the internet, and from B4s, of which `most` are
-- kept: the counters must say so.
local function flood(n, most)
  local settings = ("reassembly { max-packets %d; }"):format(most)
  begin{settings, settings}
  for i = 1, n do
    for side, frame in pairs(frames.first_fragments(i, SIZE)) do
      ways.send(side, frame)
    end
    ways.breathe()
  end
  for _, way in ipairs(ways.NAMES) do
    local out, changes = outcome(way)
    for _, version in ipairs{"ipv4", "ipv6"} do
      local came = changes[("in-%s-frag-needs-reassembly"):format(version)]
      local evicted = changes[("drop-%s-frag-random-evicted"):format(version)]
      if out ~= 0 or came ~= n or evicted ~= n - most then
        error(("%s: %d out, %s"):format(way, out, text_of(changes)))
      end
    end
  end
end

cut_all{}
cut_all{"allow-incoming-icmp false; generate-icmp-errors false;",
  "allow-incoming-icmp false; generate-icmp-errors false;"}
flood(700, 100)
print(("%d frames sent, %d not counted"):format(sent, lost))
if lost > 0 then main.exit(1) end
