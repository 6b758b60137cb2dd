-- SPDX-License-Identifier: Apache-2.0
-- A fused region at run time: binds the generated source to its apps, links and
-- ports, and keeps the counters of links that no packet passes any more. Only
-- what leaves the straight way is counted per packet (drops, outputs but the
-- first, changes of length); the rest follows from what came in.

local ffi = require("ffi")
local C = require("core.native")
local config = require("core.config")
local link = require("core.link")
local packet = require("core.packet")
local source = require("core.engine.fuse.source")

local region = {}

local Region = {}
Region.__index = Region

local BURST = C.PORT_BURST
local array_t = ffi.typeof("struct packet *[?]")
local counts_t = ffi.typeof("struct { int64_t packets, bytes; }[?]")

-- The description ---------------------------------------------------------

-- Number the events of the app: outputs but the first, outputs without a link.
local function add_outputs(r, name)
  local app = r.app_of[name]
  for i, output in ipairs(app.outputs or {"output"}) do
    local lead = r.leads[name][output] or {kind = "none"}
    r.leads[name][output] = lead
    if i > 1 or lead.kind == "none" then
      r.events[#r.events + 1] = {app = name, output = output,
        drop = lead.kind == "none" and "no link at " .. output}
      lead.event = #r.events
    end
  end
end

-- Number the drops of the app: those its class names, and "dropped".
local function add_drops(r, name)
  local app = r.app_of[name]
  r.first_drop[r.index[name]] = #r.events + 1
  local reasons = {"dropped", unpack(app.drops or {})}
  r.ndrops[r.index[name]] = #reasons
  for _, reason in ipairs(reasons) do
    r.events[#r.events + 1] = {app = name, drop = reason}
  end
end

local function describe(found, apps, links)
  local r = {
    apps = found.apps, entries = found.entries, exits = found.exits,
    inner = found.inner, app_of = {}, index = {}, leads = {}, events = {},
    first_drop = {}, ndrops = {}, links = {},
  }
  for _, list in ipairs{r.entries, r.exits, config.sorted_keys(r.inner)} do
    for _, spec in ipairs(list) do r.links[spec] = links[spec] end
  end
  for i, name in ipairs(r.apps) do
    r.app_of[name], r.index[name], r.leads[name] = apps[name], i, {}
  end
  for spec in pairs(r.inner) do
    local from, output, to = config.parse_link(spec)
    r.leads[from][output] = {kind = "app", to = to, spec = spec}
  end
  for x, spec in ipairs(r.exits) do
    local from, output = config.parse_link(spec)
    r.leads[from][output] = {kind = "exit", exit = x, spec = spec}
  end
  for _, name in ipairs(r.apps) do
    add_outputs(r, name)
    add_drops(r, name)
  end
  return r
end

-- Where packets come from and go to ------------------------------------------

local function fetch_from(l, port)
  if port then
    return function (to) return C.pg_fetch(port, l, to) end
  end
  return function (to) return C.pg_take(l, to, BURST) end
end

local function flush_to(l, port)
  if port then
    return function (from, n) C.pg_send(port, l, from, n) end
  end
  local transmit = link.transmit
  return function (from, n)
    for i = 0, n - 1 do transmit(l, from[i]) end
  end
end

-- The device of the app at the far end, when packets can go straight to it.
local function port_at(app)
  return app and app.direct and app.port
end

-- Counting --------------------------------------------------------------------

local function counting(r, counts, growth)
  local free = packet.free
  local first, ndrops = r.first_drop, r.ndrops
  local function count(event, size)
    counts[event].packets = counts[event].packets + 1
    counts[event].bytes = counts[event].bytes + size
  end
  local function drop(event, p)
    count(event, p.length)
    free(p)
  end
  -- process() returned no packet: `p` is dropped, for the reason numbered.
  local function lose(k, reason, p)
    local event = first[k]
    if reason and reason >= 1 and reason < ndrops[k] then event = event + reason end
    drop(event, p)
  end
  local function grow(k, by)
    growth[k] = growth[k] + by
  end
  return count, drop, lose, grow
end

-- Bytes that have gone into the link, whatever became of them.
local function bytes_into(l)
  return l.rxbytes + C.pg_link_queued_bytes(l) + l.txdropbytes
end

-- With one entry nobody adds up what comes in: it is what left and was dropped,
-- less what apps have added.
function Region:bytes_in()
  local r, sum = self.description, 0LL
  for _, spec in ipairs(r.exits) do
    sum = sum + bytes_into(r.links[spec]) - self.base[spec].bytes
  end
  for event, e in ipairs(r.events) do
    if e.drop then sum = sum + self.counts[event].bytes end
  end
  for k = 1, #r.apps do sum = sum - self.growth[k] end
  return sum
end

--- Bring the counters of the fused links up to date (core.link's fields).
function Region:account()
  local r, packets, bytes = self.description, {}, {}
  if #r.entries == 1 then
    local spec = r.entries[1]
    r.links[spec].rxbytes = self.base[spec].bytes + self:bytes_in()
  end
  local function arrive(name, p, b)
    packets[name], bytes[name] = (packets[name] or 0LL) + p, (bytes[name] or 0LL) + b
  end
  for _, spec in ipairs(r.entries) do
    local _, _, to = config.parse_link(spec)
    local l, base = r.links[spec], self.base[spec]
    arrive(to, l.read - base.packets, l.rxbytes - base.bytes)
  end
  for _, name in ipairs(r.apps) do
    self:pass_on(name, packets[name] or 0LL, bytes[name] or 0LL, arrive)
  end
end

-- Share out what came to the app among its drops and outputs.
function Region:pass_on(name, p, b, arrive)
  local r, k = self.description, self.description.index[name]
  for event = r.first_drop[k], r.first_drop[k] + r.ndrops[k] - 1 do
    p, b = p - self.counts[event].packets, b - self.counts[event].bytes
  end
  b = b + self.growth[k]
  local outputs = r.app_of[name].outputs or {"output"}
  for i = #outputs, 1, -1 do
    local lead = r.leads[name][outputs[i]]
    local op, ob = p, b
    if i > 1 then
      op, ob = self.counts[lead.event].packets, self.counts[lead.event].bytes
      p, b = p - op, b - ob
    end
    if lead.kind == "app" then
      local l, base = r.links[lead.spec], self.base[lead.spec]
      l.read, l.rxbytes = base.packets + op, base.bytes + ob
      l.write = bit.tobit(l.read)
      l.limit = bit.tobit(bit.tobit(l.read) + link.max)
      arrive(lead.to, op, ob)
    end
  end
end

--- Packets the app `name` has dropped: a table from reason to number.
function Region:drops(name)
  local result = {}
  for event, e in ipairs(self.description.events) do
    if e.app == name and e.drop then
      result[e.drop] = tonumber(self.counts[event].packets)
    end
  end
  return result
end

-- Making one --------------------------------------------------------------------

-- Which apps and links it was made of (core.engine.fuse compares).
function Region:remember(apps)
  self.link_of, self.ends = self.description.links, {}
  local d = self.description
  for _, list in ipairs{d.entries, d.exits, config.sorted_keys(d.inner)} do
    for _, spec in ipairs(list) do
      local from, _, to = config.parse_link(spec)
      self.ends[from], self.ends[to] = apps[from], apps[to]
    end
  end
end

--- Build the region `found` (regions.find) of the running apps and links. Its
--- run[i]() moves a burst from entries[i]; `text` is its source.
function region.new(found, apps, links)
  local r = describe(found, apps, links)
  local self = setmetatable({
    description = r, run = {}, base = {},
    counts = counts_t(#r.events + 1), growth = ffi.new("int64_t[?]", #r.apps + 1),
    text = source.generate(r), direct = {},
  }, Region)
  local R = {process = {}, app = {}, fetch = {}, entry = {}, out = {}, flush = {},
             run = self.run, packets = array_t(BURST)}
  R.count, R.drop, R.lose, R.grow = counting(r, self.counts, self.growth)
  for i, name in ipairs(r.apps) do
    R.process[i], R.app[i] = apps[name].process, apps[name]
    apps[name].region = self
  end
  self:remember(apps)
  for spec in pairs(r.inner) do
    self.base[spec] = {packets = links[spec].read, bytes = links[spec].rxbytes}
  end
  for i, spec in ipairs(r.entries) do
    local from = config.parse_link(spec)
    local port = port_at(apps[from])
    if port then self.direct[from] = true end
    self.base[spec] = {packets = links[spec].read, bytes = links[spec].rxbytes}
    R.fetch[i], R.entry[i] = fetch_from(links[spec], port), links[spec]
  end
  for x, spec in ipairs(r.exits) do
    local _, _, to = config.parse_link(spec)
    local port = port_at(apps[to])
    if port then self.direct[to] = true end
    self.base[spec] = {bytes = bytes_into(links[spec])}
    R.out[x], R.flush[x] = array_t(BURST), flush_to(links[spec], port)
  end
  assert(loadstring(self.text, "=region of " .. r.apps[1]))(R)
  return self
end

return region
