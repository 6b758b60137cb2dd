-- SPDX-License-Identifier: Apache-2.0
-- The counters of a fused region. Only what leaves the straight way is counted
-- per packet (drops, outputs but the first, changes of length: "events"); what
-- passed each link in the region follows from that and from what came in.

local ffi = require("ffi")
local C = require("core.native")
local config = require("core.config")
local drops = require("core.fuse.drops")
local packet = require("core.packet")

local Tally = {}
Tally.__index = Tally

local counts_t = ffi.typeof("struct tally_count[?]")
local apps_t = ffi.typeof("struct tally_app[?]")
local outs_t = ffi.typeof("struct tally_out[?]")
local ends_t = ffi.typeof("struct tally_end[?]")
local int32s_t, int64s_t = ffi.typeof("int32_t[?]"), ffi.typeof("int64_t[?]")
local native_t = ffi.typeof("struct tally")
local counts_p, int64_p = ffi.typeof("struct tally_count *"), ffi.typeof("int64_t *")

local free = packet.free

--- What the generated code calls for packets that leave the straight way:
--- count(event, size), drop(event, packet), lose(app number, drop number, packet, its
--- length before, what process() returned: false keeps it), grow(app number, bytes).
function Tally:functions()
  -- Pointers are constants in compiled code, larger cdata is loaded anew.
  local counts = ffi.cast(counts_p, self.counts)
  local growth = ffi.cast(int64_p, self.growth)
  local r = self.region
  local first, losses, kept = r.first_loss, r.losses, r.kept
  local function count(event, size)
    counts[event].packets = counts[event].packets + 1
    counts[event].bytes = counts[event].bytes + size
  end
  local function drop(event, p)
    count(event, p.length)
    free(p)
  end
  -- process() returned no packet. What it did to the length of `p` doesn't count.
  local function lose(k, reason, p, before, result)
    if result == false then return count(kept[k], before) end
    count(losses[k][reason] or first[k], before)
    free(p)
  end
  local function grow(k, by)
    growth[k] = growth[k] + by
  end
  return count, drop, lose, grow
end

-- Tell core.fuse.drops what has been dropped since the last time.
local function tell_drops(self)
  for _, d in ipairs(self.drops) do
    local n = self.counts[d.event].packets
    if n ~= d.told then
      drops.add(d.app, d.reason, tonumber(n - d.told))
      d.told = n
    end
  end
end

--- Bring the counters of the region's links, and the drops, up to date.
function Tally:account()
  local lost = tonumber(C.pg_tally_account(self.native))
  if lost == self.told then return end
  self.told = lost
  tell_drops(self)
end

--- Has anything come in since account()? (Sources in the region aren't looked at.)
function Tally:moved() return self.region.puts or C.pg_tally_moved(self.native) end

--- Packet and bytes that app number `k` has taken and not given back, because it
--- raised an error.
function Tally:raised(k, bytes)
  local event = self.region.raised[k]
  self.counts[event].packets = self.counts[event].packets + 1
  self.counts[event].bytes = self.counts[event].bytes + bytes
end

--- From the links' counters as they are now, the tally counts on.
function Tally:begin() C.pg_tally_begin(self.native) end

-- The apps of the region, and their outputs, one app's after the other; and how many
-- these are.
local function describe_flows(self, r)
  local apps, list = apps_t(#r.apps + 1), {}
  for k, name in ipairs(r.apps) do
    local app = apps[k]
    app.first, app.last = r.first_loss[k], r.last_loss[k]
    app.astray, app.lengthens = r.astray[k] or 0, r.lengthens[k] or 0
    app.outs, app.nouts = #list, #r.outputs[name]
    self.first[k], self.last[k], self.outs[k] = app.first, app.last, {}
    self.emits[k] = r.app_of[name].emits or false
    for i, lead in ipairs(r.outputs[name]) do
      list[#list + 1], self.outs[k][i] = lead, {event = lead.event}
    end
  end
  local outs = outs_t(math.max(#list, 1))
  for i, lead in ipairs(list) do
    local out, l = outs[i - 1], lead.kind == "app" and r.links[lead.spec]
    if l then out.link, out.to = l, r.index[lead.to] end
    out.event, out.emitted = lead.event or 0, lead.emitted or 0
    out.closing = lead.closing and true or false
  end
  return apps, outs, #list
end

local function ends_of(r, specs)
  local ends = ends_t(math.max(#specs, 1))
  for i, spec in ipairs(specs) do
    local _, _, to = config.parse_link(spec)
    ends[i - 1].link, ends[i - 1].to = r.links[spec], r.index[to] or 0
  end
  return ends
end

--- The tally of a region described by `r` (core.fuse.region). Of its `napps` apps it
--- tells, by number, in into[k].packets what has come, the events of losses from
--- first[k] to last[k], in outs[k] the `event` of each output (nil: what remains), and
--- in emits[k] whether it sends packets in the midst of process().
function Tally.new(r)
  local self = setmetatable({
    region = r, counts = counts_t(#r.events + 1), growth = int64s_t(#r.apps + 1),
    entries = ends_of(r, r.entries), exits = ends_of(r, r.exits), drops = {}, told = 0,
    napps = #r.apps, first = {}, last = {}, outs = {}, emits = {},
  }, Tally)
  local lost = {}
  for event, e in ipairs(r.events) do
    if e.drop or e.raised then lost[#lost + 1] = event end
    if e.drop then
      self.drops[#self.drops + 1] =
        {event = event, app = r.app_of[e.app].lifted_from or r.app_of[e.app],
         reason = e.drop, told = 0LL}
    end
  end
  local nouts
  self.into, self.leads, nouts = describe_flows(self, r)
  self.lost = int32s_t(math.max(#lost, 1), lost)
  self.native = native_t{
    counts = self.counts, growth = self.growth, apps = self.into, outs = self.leads,
    entries = self.entries, exits = self.exits, lost = self.lost, napps = #r.apps,
    nouts = nouts, nentries = #r.entries, nexits = #r.exits, nlost = #lost,
    loops = r.puts and true or false, unsummed = not r.sums and #r.entries == 1,
  }
  self:begin()
  return self
end

return Tally
