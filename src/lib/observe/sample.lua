-- SPDX-License-Identifier: Apache-2.0
-- What an instance has in shared memory at a moment, and what changed between two such
-- moments: rates of links, apps and drops. Only `take` reads anything.

local C = require("core.native")
local engines = require("lib.observe.engines")
local ethernet = require("net.wire.ethernet")
local objects = require("lib.observe.objects")
local process = require("lib.observe.process")
local shm = require("core.shm")
local shown = require("lib.replica.shown")
local tasks = require("lib.observe.tasks")

local sample = {}

local WIRE_OVERHEAD = ethernet.OVERHEAD

-- What the devices are, by number.
local function ports_of(directory)
  local ports = {}
  for _, id in ipairs(objects.entries(directory .. "/devices")) do
    ports[id] = objects.line(("%s/devices/%s/port"):format(directory, id))
  end
  return ports
end

--- The instance (of lib.observe.instances) now: {time, cpu, uptime, objects, ports =
--- what its devices are, by number}; nil if its process has ended.
function sample.take(instance)
  local cpu, uptime = process.times(instance.pid)
  if not cpu then return nil end
  local keeps, replication = shown.of(instance.directory)
  return {time = C.pg_monotonic(), cpu = cpu, uptime = uptime,
          keeps = keeps, replication = replication,
          objects = objects.all(instance.directory),
          ports = ports_of(instance.directory)}
end

local function counter(s, name)
  local object = s.objects[name]
  return object and object.kind == "counter" and tonumber(object.value) or nil
end

-- A second, of the counter `name`; nil if there is none.
local function rate(before, now, name)
  local last = counter(now, name)
  if not last then return nil end
  local first = counter(before, name) or 0
  return math.max(0, last - first) / math.max(now.time - before.time, 1e-9), last
end

local function links(before, now)
  local list = {}
  for name in pairs(now.objects) do
    local part = name:match("^links/(.*)/txpackets$")
    if part then
      local path, spec = "links/" .. part .. "/", shm.name_of_part(part)
      local pps, packets = rate(before, now, name)
      local drops, dropped = rate(before, now, path .. "txdrop")
      local bytes = rate(before, now, path .. "txbytes") or 0
      list[#list + 1] = {
        name = spec, pps = pps, packets = packets, drops = drops or 0,
        dropped = dropped or 0, bits = 8 * (bytes + WIRE_OVERHEAD * pps),
        waiting = math.max(0, packets - (counter(now, path .. "rxpackets") or packets)),
        from = spec:match("^([^.]+)%."), to = spec:match("-> ?([^.]+)%."),
      }
    end
  end
  return list
end

-- The apps whose objects count packets by reason (drop_REASON).
local function with_reasons(names)
  local found = {}
  for name in pairs(names) do
    local owner = name:match("^apps/([^/]+)/drop_[^/]+$")
    if owner then found[owner] = true end
  end
  return found
end

-- What counts packets that went nowhere, whatever the reason.
local IN_GENERAL = {rxerrors = true, txerrors = true, rxdrop = true, txdrop = true}

-- A function of an app or a link and the name of its counter: does that count packets
-- which went nowhere? Those called length_errors and the like are no more packets, they
-- say what part of rxerrors is; nor are rxerrors of an app with reasons, nor Snabb's
-- lwAFTR's bytes (drop-ttl-zero-ipv4-bytes) and sums (drop-all-ipv4-iface-packets).
local function drop_counters(names)
  local has_reasons = with_reasons(names)
  return function (owner, what)
    if IN_GENERAL[what] then return not has_reasons[owner] end
    return what:find("drop", 1, true) ~= nil and not what:find("[-_]bytes$")
      and not what:find("^drop%-all%-")
  end
end

-- Apps by name, from their links, their counters and what LuaJIT says of them.
local function apps(before, now, all_links, slowed, is_drop)
  local found = {}
  local function app(name)
    found[name] = found[name] or {name = name, input = 0, output = 0, drops = 0}
    return found[name]
  end
  for _, l in ipairs(all_links) do
    if l.from then app(l.from).output = app(l.from).output + l.pps end
    if l.to then app(l.to).input = app(l.to).input + l.pps end
  end
  for name in pairs(now.objects) do
    local part, what = name:match("^apps/([^/]+)/([^/]+)$")
    local owner = part and shm.name_of_part(part)
    if owner and is_drop(part, what) then
      app(owner).drops = app(owner).drops + (rate(before, now, name) or 0)
    elseif owner then
      app(owner)
    end
  end
  for name in pairs(slowed) do app(name).interpreted = true end
  local list = {}
  for _, a in pairs(found) do
    a.pps = math.max(a.input, a.output)
    list[#list + 1] = a
  end
  return list
end

-- Everything that counts packets which went nowhere: {name = "APP: REASON", owner = the
-- app (nil: a link), reason, pps, packets}.
local function drops(before, now, is_drop)
  local list = {}
  for name in pairs(now.objects) do
    local kind, owner, what = name:match("^(%a+)/(.*)/([^/]+)$")
    if (kind == "apps" or kind == "links") and is_drop(owner, what) then
      local pps, packets = rate(before, now, name)
      if packets and packets > 0 then
        local reason = kind == "links" and "link full"
          or what:gsub("^drop[-_]", ""):gsub("%-packets$", ""):gsub("[-_]", " ")
        local of = shm.name_of_part(owner)
        list[#list + 1] = {name = of .. ": " .. reason, reason = reason, pps = pps,
                           owner = kind == "apps" and of or nil, packets = packets}
      end
    end
  end
  return list
end

-- Counters of apps that are no drops: {name = "APP: COUNTER", owner = the app, what =
-- the counter, pps = a second, packets = in all}.
local function others(before, now, is_drop)
  local list = {}
  for name in pairs(now.objects) do
    local owner, what = name:match("^apps/(.*)/([^/]+)$")
    if owner and not is_drop(owner, what) and what ~= "dtime" then
      local per_second, total = rate(before, now, name)
      if total then
        local of = shm.name_of_part(owner)
        list[#list + 1] = {name = of .. ": " .. what, owner = of, what = what,
                           pps = per_second, packets = total}
      end
    end
  end
  return list
end

local function latency(before, now)
  local h = now.objects["engine/latency"]
  if not h or h.kind ~= "histogram" then return nil end
  local past = before.objects["engine/latency"]
  local least, average, greatest = h.value:summarize(past and past.value)
  return {least = least, average = average, greatest = greatest}
end

-- Of what has no engine, the packets are its devices'.
local function engine(before, now, devices)
  local seconds = math.max(now.time - before.time, 1e-9)
  local pps = rate(before, now, "engine/frees") or 0
  local bytes = rate(before, now, "engine/freebytes") or 0
  local breaths = rate(before, now, "engine/breaths") or 0
  local bits = rate(before, now, "engine/freebits") or 0
  if #devices > 0 and breaths == 0 then
    pps, bits = tasks.load(devices)
    bytes = bits / 8 - WIRE_OVERHEAD * pps
  end
  local load = (now.cpu - before.cpu) / seconds
  local sleeps, wakeups = engines.sleeps(before, now, rate)
  return {
    sleeps = sleeps, wakeups = wakeups,
    pps = pps, bits = bits, breaths = breaths,
    configs = counter(now, "engine/configs"), load = load,
    size = pps > 0 and bytes / pps or 0,
    burst = breaths > 0 and pps / breaths or 0,
    -- Where most breaths found no packet, the cycles are no packet's.
    cycles = pps > 0 and pps >= breaths and load * tonumber(C.pg_tsc_hz()) / pps or nil,
  }
end

--- What happened between the samples `before` and `now`: {seconds, uptime, engine,
--- latency (or nil), links, apps, drops, others, workers, cycles, core_hz (or nil), jit
--- (or nil), and tasks, queues and devices as of lib.observe.tasks}; lists without an
--- order. Rates are a second; `bits` are on the wire.
function sample.difference(before, now)
  local all_links, is_drop = links(before, now), drop_counters(now.objects)
  local jit, slowed = engines.jit(now, counter)
  local cycles, core_hz = engines.cycles(before, now, rate)
  local queues = tasks.queues(before, now, rate)
  local devices = tasks.devices(before, now, rate, queues)
  return {
    seconds = now.time - before.time, uptime = now.uptime,
    engine = engine(before, now, devices), latency = latency(before, now),
    links = all_links,
    apps = apps(before, now, all_links, slowed, is_drop),
    drops = drops(before, now, is_drop), others = others(before, now, is_drop),
    workers = engines.workers(before, now, rate),
    cycles = cycles, core_hz = core_hz, jit = jit, queues = queues, devices = devices,
    tasks = tasks.list(before, now, rate), keeps = now.keeps,
    replication = now.replication,
  }
end

--- A second, of all that such a difference says was dropped: by apps, links, devices.
function sample.dropped(d)
  local sum = 0
  for _, drop in ipairs(d.drops) do sum = sum + drop.pps end
  for _, device in ipairs(d.devices) do sum = sum + device.drops end
  return sum
end

return sample
