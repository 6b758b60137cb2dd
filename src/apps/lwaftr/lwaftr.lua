-- SPDX-License-Identifier: Apache-2.0
-- LwAftr: the border router of lightweight 4over6 (RFC 7596), with upstream's
-- argument, links and counters. C takes a burst through (encapsulate.c,
-- decapsulate.c); what doesn't go through is apps.lwaftr.rejects's.

local ffi = require("ffi")
local C = require("core.declare")("apps/lwaftr/lwaftr.h")
local ptree_abi = require("apps.lwaftr.ptree_abi")
local counters = require("apps.lwaftr.counters")
local instance = require("apps.lwaftr.instance")
local link = require("core.link")
local packet = require("core.packet")
local rate_alarm = require("lib.rate_alarm")
local rejects = require("apps.lwaftr.rejects")
local window = require("net.rate.window")

local LwAftr = {
  argument = "table", yang_schema = "snabb-softwire-v3", shm = counters.shm(),
  needs_packets = true,
  tick_seconds = 0.2,
}
LwAftr.__index = LwAftr

local add = counters.add
local receive, transmit, nreadable = link.receive, link.transmit, link.nreadable
local BURST = C.PATH_BURST
local DONE, HAIRPIN = C.PATH_DONE, C.PATH_HAIRPIN

local ALARM_LIMIT = 1e5
local ALARM_OPTIONS = {period = 5, severity = "major"}

local function alarm(self, family, counter, end_point)
  return rate_alarm.new(self, counter, ALARM_LIMIT,
    ("bad-%s-softwires-matches"):format(family),
    ("packets whose %s is no softwire's"):format(end_point),
    ("More than 100,000 %s packets were dropped whose %s is no softwire's: "
      .. "look through the binding table"):format(family, end_point), ALARM_OPTIONS)
end

--- An app for the configuration `conf`: upstream's, or one that apps.lwaftr.conf_reader
--- has read, of one instance and one queue.
function LwAftr:new(conf)
  local c = instance.merge(conf)
  local external, internal = c.external_interface, c.internal_interface
  local o = setmetatable({
    conf = c, ip = external.ip,
    errors4 = external.generate_icmp_errors, errors6 = internal.generate_icmp_errors,
    limit4 = window.new(external.error_rate_limiting.packets,
      external.error_rate_limiting.period),
    limit6 = window.new(internal.error_rate_limiting.packets,
      internal.error_rate_limiting.period),
    burst = ffi.new("struct packet *[?]", BURST),
    results = ffi.new("uint8_t[?]", BURST),
  }, self)
  o.path = ffi.new("struct lwaftr_path", {
    flow_label = internal.flow_label, mtu = internal.mtu,
    allow_icmp4 = external.allow_incoming_icmp,
    allow_icmp6 = internal.allow_incoming_icmp,
    hairpinning = internal.hairpinning,
  })
  o.binding = instance.join(c.binding_table, o.path)
  o.alarm4 = alarm(o, "ipv4", "drop-no-dest-softwire-ipv4-packets", "destination")
  o.alarm6 = alarm(o, "ipv6", "drop-no-source-softwire-ipv6-packets", "source")
  return o
end

--- How many ICMP errors were sent in the present period stays with the limit.
function LwAftr.reconfig_keeps(fresh, running)
  local names = {"alarm4", "alarm6"}
  for _, name in ipairs{"limit4", "limit6"} do
    local limit, before = fresh[name], running[name]
    if limit.packets == before.packets and limit.period == before.period then
      names[#names + 1] = name
    end
  end
  return names
end

--- Called by upstream's lib.ptree.worker as softwires come and go.
function LwAftr:add_softwire_entry(blob)
  ptree_abi.add(self.binding, blob)
end

function LwAftr:remove_softwire_entry(blob)
  ptree_abi.remove(self.binding, blob)
end

local function fill(burst, input, n)
  for i = 0, n - 1 do burst[i] = receive(input) end
end

local function send(burst, output, n)
  for i = 0, n - 1 do transmit(output, burst[i]) end
end

-- The same where some of the burst have had another fate.
local function send_done(burst, results, output, hairpin, n)
  for i = 0, n - 1 do
    if results[i] == DONE then
      transmit(output, burst[i])
    elseif results[i] == HAIRPIN then
      transmit(hairpin, burst[i])
    end
  end
end

local function count(shm, name, sum)
  if sum.packets > 0 then
    add(shm, name, tonumber(sum.bytes), tonumber(sum.packets))
  end
end

function LwAftr:decapsulate(input, n)
  local burst, results, path = self.burst, self.results, self.path
  fill(burst, input, n)
  local rest = C.pg_lwaftr_decapsulate(path, burst, n, results)
  count(self.shm, "in-ipv6", path["in"])
  count(self.shm, "out-ipv4", path.out)
  count(self.shm, "hairpin-ipv4", path.hairpin)
  if rest == 0 then return send(burst, self.output.v4, n) end
  send_done(burst, results, self.output.v4, self.input.hairpin_in, n)
  for i = 0, n - 1 do
    if results[i] > HAIRPIN then rejects.from_b4(self, burst[i], results[i]) end
  end
end

function LwAftr:encapsulate(input, n, hairpinned)
  local burst, results, path = self.burst, self.results, self.path
  fill(burst, input, n)
  local rest = C.pg_lwaftr_encapsulate(path, burst, n, results, hairpinned)
  if not hairpinned then count(self.shm, "in-ipv4", path["in"]) end
  count(self.shm, "out-ipv6", path.out)
  if rest == 0 then return send(burst, self.output.v6, n) end
  send_done(burst, results, self.output.v6, nil, n)
  for i = 0, n - 1 do
    if results[i] ~= DONE then
      rejects.to_b4(self, burst[i], results[i], hairpinned)
    end
  end
end

function LwAftr:push()
  local v4, v6, hairpin = self.input.v4, self.input.v6, self.input.hairpin_in
  for _ = 1, math.ceil(nreadable(v6) / BURST) do
    self:decapsulate(v6, math.min(nreadable(v6), BURST))
  end
  for _ = 1, math.ceil(nreadable(v4) / BURST) do
    self:encapsulate(v4, math.min(nreadable(v4), BURST), false)
  end
  for _ = 1, math.ceil(nreadable(hairpin) / BURST) do
    self:encapsulate(hairpin, math.min(nreadable(hairpin), BURST), true)
  end
end

function LwAftr:tick()
  self.alarm4:check()
  self.alarm6:check()
end

--- Send a packet that came for an address of the table, or is an error for one, back
--- through the lwAFTR.
function LwAftr:turn_back(p)
  transmit(self.input.hairpin_in, p)
end

--- Send `p` to the internet or to B4s; it is counted already.
function LwAftr:send4(p) transmit(self.output.v4, p) end
function LwAftr:send6(p) transmit(self.output.v6, p) end

--- Drop `p`; it is counted already.
function LwAftr:drop(p) packet.free(p) end

function LwAftr:stop() self.binding:part(self.path) end

return {LwAftr = LwAftr}
