-- SPDX-License-Identifier: Apache-2.0
-- Two lwAFTRs side by side, of testing.lwaftr_frames' configuration: one with the fast
-- ways, one without. The test itself sends and takes packets.

local config = require("core.config")
local counter = require("core.counter")
local engine = require("core.app")
local ffi = require("ffi")
local frames = require("testing.lwaftr_frames")
local graph = require("apps.lwaftr.graph")
local link = require("core.link")
local packet = require("core.packet")
local reader = require("apps.lwaftr.conf_reader")

local ways = {}

--- What the names of their apps end with.
ways.NAMES = {"_slow", "_fast"}

local BREATHS = 6 -- until a burst has come out, hairpinned errors and all

local Idle = {}
Idle.__index = Idle
function Idle.new() return setmetatable({}, Idle) end

local function configuration(settings)
  local text = frames.CONF:format(settings[1] or "", settings[2] or "")
  if settings.unresolved then
    text = text:gsub("mac 02:99:99:99:99:04;", "ip 10.0.1.2;")
      :gsub("mac 02:99:99:99:99:06;", "ip fc00::1;")
  end
  return reader.text(text)
end

--- Begin anew, with counters at 0. `settings`: those of the external and the internal
--- interface, and `unresolved`, if the next hops' MAC addresses aren't given.
function ways.configure(settings)
  local c, conf = config.new(), configuration(settings)
  for _, way in ipairs(ways.NAMES) do
    config.app(c, "ends" .. way, Idle)
    graph.add(c, conf, {suffix = way, fast = way == "_fast",
      v4 = {"ends" .. way .. ".v4", "ends" .. way .. ".v4"},
      v6 = {"ends" .. way .. ".v6", "ends" .. way .. ".v6"}})
  end
  engine.configure(config.new()) -- so that all counters begin anew
  engine.configure(c)
end

--- Send a frame to both; `side` is "v4" or "v6".
function ways.send(side, frame)
  for _, way in ipairs(ways.NAMES) do
    link.transmit(engine.app_table["ends" .. way].output[side],
      packet.from_string(frame))
  end
end

--- Let what was sent come out.
function ways.breathe()
  for _ = 1, BREATHS do engine.breathe() end
end

--- What came out of one way: call f(side, packet) for each, which isn't freed by that.
function ways.take(way, f)
  local input = engine.app_table["ends" .. way].input
  for _, side in ipairs{"v4", "v6"} do
    while not link.empty(input[side]) do
      local p = link.receive(input[side])
      f(side, p)
      packet.free(p)
    end
  end
end

--- The sums of one way's counters over all its apps, by name.
function ways.sums(way)
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

return ways
