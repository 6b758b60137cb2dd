-- SPDX-License-Identifier: Apache-2.0
-- Mutated packets through Perigee's LwAftr and through upstream's: what comes out and
-- what is counted must be the same. To be run with a checkout:
--
--     perigee --snabb DIR run test/fuzz_lwaftr.lua 100000 [SEED]
--
-- Left out are packets that RFC 1812, section 5.2.2, has a router drop without an
-- answer, those cut short (upstream reads what happens to lie there), and ICMPv6 of
-- type 0, which RFC 4443 doesn't have, and upstream takes for an error.

local counter = require("core.counter")
local ffi = require("ffi")
local link = require("core.link")
local packet = require("core.packet")
local pcap = require("lib.pcap.pcap")
local upstream = require("core.upstream")

local COUNT, SEED = tonumber(main.parameters[1] or 100000),
  tonumber(main.parameters[2] or 1)
local DATA = upstream.dir .. "/program/lwaftr/tests/data/"
local CONFIGURATIONS = {"icmp_on_fail.conf", "no_icmp.conf", "tunnel_icmp.conf",
  "no_hairpin.conf", "small_ipv4_mtu_icmp.conf", "small_ipv6_mtu_no_icmp_allow.conf"}
local ETHERNET, IP6 = 14, 40

-- The app under test, with links and counters of its own.
local function rig(class, conf, name)
  local app = class:new(conf)
  app.shm, app.input, app.output, app.counter_names, app.counted = {}, {}, {}, {}, {}
  for key in pairs(class.shm) do
    app.shm[key], app.counted[key] = ffi.new("struct counter"), 0
    table.insert(app.counter_names, key)
  end
  table.sort(app.counter_names)
  for _, l in ipairs{"v4", "v6", "hairpin_in"} do
    app.input[l] = link.new(name .. "_in_" .. l)
  end
  for _, l in ipairs{"v4", "v6"} do app.output[l] = link.new(name .. "_out_" .. l) end
  return app
end

local function taken(l)
  local frames = {}
  while not link.empty(l) do
    local p = link.receive(l)
    frames[#frames + 1] = ffi.string(p.data, p.length)
    packet.free(p)
  end
  return table.concat(frames, "|")
end

-- What comes out for a frame, and the counters that changed, as a list of strings.
local function outcome(app, frame, input)
  link.transmit(app.input[input], packet.from_string(frame))
  for _ = 1, 3 do app:push() end
  local lines = {taken(app.output.v4), taken(app.output.v6)}
  for _, name in ipairs(app.counter_names) do
    local now = tonumber(counter.read(app.shm[name]))
    local change = now - app.counted[name]
    if change ~= 0 then lines[#lines + 1] = name .. "=" .. change end
    app.counted[name] = now
  end
  return lines
end

-- Is there a sound IPv4 header at `at`, and room for what is looked at behind it?
local function is_sound(frame, at)
  local n = #frame - at
  if n < 20 then return false end
  local first = frame:byte(at + 1)
  local header = first % 16 * 4
  local total = frame:byte(at + 3) * 256 + frame:byte(at + 4)
  if math.floor(first / 16) ~= 4 or header < 20 then return false end
  if header + 8 > total or total > n then return false end
  if frame:byte(at + 10) ~= 1 then return true end
  local kind = frame:byte(at + header + 1)
  if kind == 0 or kind == 8 then return true end
  if n < header + 8 + 20 then return false end
  local inner = frame:byte(at + header + 8 + 1) % 16 * 4
  return total >= header + 8 + inner + 2
end

local function is_comparable(frame, input)
  if #frame < ETHERNET + 20 then return false end
  local type = frame:byte(13) * 256 + frame:byte(14)
  if input == "v4" then return type ~= 0x0800 or is_sound(frame, ETHERNET) end
  if type ~= 0x86dd then return true end
  if #frame < ETHERNET + IP6 then return false end
  local next_header = frame:byte(ETHERNET + 7)
  if next_header == 4 then return is_sound(frame, ETHERNET + IP6) end
  if next_header ~= 58 then return true end
  local kind = frame:byte(ETHERNET + IP6 + 1)
  return #frame >= ETHERNET + IP6 + 8 + IP6 + 20 and kind ~= 0
end

local function seeds()
  local frames = {}
  for name in require("posix.dirent").files(DATA) do
    if name:match("%.pcap$") then
      for data in pcap.records(DATA .. name) do frames[#frames + 1] = data end
    end
  end
  return frames
end

local function mutated(frame)
  for _ = 1, math.random(0, 3) do
    local at = math.random(math.random() < 0.8 and math.min(#frame, 100) or #frame)
    local byte = string.char(math.random(0, 255))
    frame = frame:sub(1, at - 1) .. byte .. frame:sub(at + 1)
  end
  return frame
end

local function hex(text)
  return (text:gsub(".", function (c) return ("%02x"):format(c:byte()) end))
end

local theirs = assert(loadfile(upstream.dir .. "/apps/lwaftr/lwaftr.lua"))
theirs("upstream_lwaftr")
local classes = {require("apps.lwaftr.lwaftr").LwAftr,
  package.loaded.upstream_lwaftr.LwAftr}

-- Of a copy: upstream writes a compiled file beside what it reads.
local function read(name)
  local path = os.tmpname()
  local from, to = assert(io.open(DATA .. name)), assert(io.open(path, "w"))
  to:write(from:read("*a"))
  from:close()
  to:close()
  local conf = require("program.lwaftr.setup").read_config(path)
  os.remove(path)
  os.remove(path .. ".o")
  return conf
end

math.randomseed(SEED)
local frames, compared, different = seeds(), 0, 0
table.sort(frames)
for i, name in ipairs(CONFIGURATIONS) do
  local conf = read(name)
  local apps = {}
  for k, class in ipairs(classes) do apps[k] = rig(class, conf, i .. "_" .. k) end
  for n = 1, math.ceil(COUNT / #CONFIGURATIONS) do
    local frame = mutated(frames[math.random(#frames)])
    local input = math.random(2) == 1 and "v4" or "v6"
    if math.random(4) > 1 then
      input = frame:byte(13) == 0x86 and "v6" or "v4"
    end
    if is_comparable(frame, input) then
      compared = compared + 1
      local ours, other = outcome(apps[1], frame, input), outcome(apps[2], frame, input)
      if table.concat(ours, "\n") ~= table.concat(other, "\n") then
        different = different + 1
        if different <= 3 then
          print(("%s packet %d (%s): %s"):format(name, n, input, hex(frame)))
          for k = 1, math.max(#ours, #other) do
            local a, b = ours[k] or "", other[k] or ""
            if k <= 2 then a, b = hex(a), hex(b) end
            if a ~= b then print("  ours   " .. a .. "\n  theirs " .. b) end
          end
        end
      end
    end
  end
end
print(("%d packets compared, %d differences"):format(compared, different))
if different > 0 then main.exit(1) end
