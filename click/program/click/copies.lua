-- SPDX-License-Identifier: Apache-2.0
-- A configuration on several CPUs: copies of the whole router, each with a queue of
-- each device, or with the flows that come to it (program.click.steering).
--
-- Elements of the classes below keep nothing of one packet for others, or nothing but
-- counts. Another class says how it is divided:
--
--   divided(element, n)   why there can't be n copies, a sentence; nil: there can
--   meets                 what has to come to one copy: "flow", packets of a flow and
--                         answers to what the copy has made of them; "within", pings by
--                         identifier and ICMP errors about a flow, too; nil: nothing

local affinity = require("core.cpus.affinity")
local config = require("core.config")
local engine = require("core.app")
local joined = require("program.click.joined")
local placement = require("core.cpus.placement")
local steering = require("program.click.steering")
local workers = require("core.cpus.workers")

local copies = {}

--- The names of elements that any packets may come to: a set.
copies.classes = {}
local COPIED = copies.classes
for name in ([[
  FromDPDKDevice ToDPDKDevice FromDevice ToDevice PollDevice
  AddressInfo AlignmentInfo AnnotationInfo ClickyInfo DPDKInfo FlowInfo IPNameInfo
  PortInfo ScheduleInfo StaticThreadSched TSCClock JiffieClock
  Align CheckLength CheckPaint Discard EnsureDPDKBuffer EnsureHeadroom ExactPaintSwitch
  HashSwitch Idle MinBatch MoveData Null Pad Paint Paint2 PaintSwitch PaintTee Pipeliner
  PushNull RandomSwitch Resize RoundRobinSwitch SetAnnoByte SetPacketType SetTimestamp
  StaticSwitch StoreData Strip StripToNetworkHeader Switch Tee Truncate Unstrip
  AverageCounter Counter CounterMP AverageCounterMP AverageCounterIMP
  Classifier IPClassifier IPFilter CTXDispatcher CTXManager
  ARPResponder DropBroadcasts EnsureEther EtherEncap EtherMirror EtherRewrite
  EtherVLANEncap GetEtherAddress HostEtherFilter MarkMACHeader SetEtherAddress
  SetVLANAnno StoreEtherAddress StripEtherVLANHeader TruncateFCS VLANDecap VLANEncap
  CheckICMPHeader ICMPError ICMPPingResponder
  CheckIPHeader CheckIPHeader2 DecIPTTL DirectIPLookup FixIPSrc GetIPAddress IPEncap
  IPFragmenter IPGWOptions IPIn IPInputCombo IPMirror IPOutputCombo LinearIPLookup
  LookupIPRouteMP MarkIPCE MarkIPHeader RadixIPLookup RangeIPLookup SetIPAddress
  SetIPChecksum SetIPDSCP SetIPECN SortedIPLookup StaticIPLookup StoreIPAddress
  StripIPHeader UnstripIPHeader
  AggregateCounterVector IPLoadBalancer IPLoadBalancerReverse L2LoadBalancer
  CheckIP6Header DecIP6HLIM GetIP6Address ICMP6Error IP6Encap IP6Mirror LookupIP6Route
  MarkIP6Header SetIP6Address SetIP6DSCP
  CheckTCPHeader CheckUDPHeader FlowStrip FlowUnstrip ResetIPChecksum SetTCPChecksum
  SetUDPChecksum StripTransportHeader UDPIPEncap
  Queue SimpleQueue ThreadSafeQueue Unqueue
]]):gmatch("%S+") do COPIED[name] = true end

-- Those that change what packets, or answers to them, are led by.
local READDRESSES = {}
for name in ([[
  FlowStrip FlowUnstrip IP6Encap IPEncap MoveData StoreData StoreIPAddress StripIPHeader
  UDPIPEncap UnstripIPHeader
]]):gmatch("%S+") do READDRESSES[name] = true end

--- The CPUs that the command line's options ask for, a list; nil: one thread will do.
function copies.wanted(o)
  local cpus = o.cpus or placement.wanted()
  if not cpus and (o.threads or 1) > 1 then
    cpus = {}
    local first = type(o.affinity) == "number" and o.affinity or 0
    local there = affinity.cpus()
    for i = 1, math.min(o.threads, #there - first) do cpus[i] = there[first + i] end
  end
  return cpus and #cpus > 1 and cpus or nil
end

local OWN_THREAD = {ports = "-p",
  unix_sockets = "-u", sockets = "--socket", allow_reconfigure = "-R",
  simtime = "--simtime"}

local function asked_for(value)
  return value and (type(value) ~= "table" or next(value) ~= nil)
end

-- What of packets has to come to one copy (see above); or nil and why there can't be
-- copies.
local function what_meets(router, n)
  local meets, who, changes
  for _, e in ipairs(router.elements) do
    local class = e.class
    if not COPIED[class.name] then
      if not class.divided then
        return nil, ("%s :: %s sees all packets, or the router"):format(e.name,
          class.name)
      end
      local why = class.divided(e, n)
      if why then return nil, ("%s :: %s: %s"):format(e.name, class.name, why) end
      if meets ~= "within" then meets = class.meets or meets end
      who = class.meets and e or who
    end
    changes = changes or READDRESSES[class.name] and e
  end
  if who and changes then
    return nil, ("%s :: %s changes packets by which replies would be led to the CPU of "
      .. "their flow, which %s :: %s needs"):format(changes.name, changes.class.name,
      who.name, who.class.name)
  end
  return meets or "nothing"
end

--- Why there can't be `n` copies of the router (which isn't running), a sentence; or
--- nil and what has to come to one copy: "nothing", "flow", "within".
function copies.problem(router, o, n)
  for field, option in pairs(OWN_THREAD) do
    if asked_for(o[field]) then return ("%s needs one router"):format(option) end
  end
  local meets, why = what_meets(router, n)
  if why then return why end
  if not next(router.devices and router.devices.by_text or {}) then
    return "it receives from no device"
  end
  return nil, meets
end

local function app_of(i) return "click_" .. i end

-- Have the files come to their end, and is nothing on its way?
local function end_of_files(cpus)
  return function ()
    if not engine.finished() then return false end
    for i, cpu in ipairs(cpus) do
      local states = workers.call(cpu, "apps.click.click", "progress", {app_of(i)})
      if states["passing on"] or states.starting then return false end
    end
    return true
  end
end

--- Run copies of the router's configuration `text` on the CPUs of the list, until a
--- signal comes or its files end. `meets` is of copies.problem. The router itself,
--- which is closed, has their handlers then.
function copies.run(router, text, o, cpus, meets)
  local c = config.new()
  local Click = require("apps.click.click").Click
  local shared = steering.devices(router, #cpus, meets)
  router:close()
  for i, cpu in ipairs(cpus) do
    config.app(c, app_of(i), Click, {text = text, variables = o.variables,
      devices = o.devices,
      copy = {number = i - 1, of = #cpus, shared = steering.numbers(shared)}})
    config.cpu(c, app_of(i), cpu)
  end
  steering.wire(c, shared, cpus, app_of, meets)
  placement.use(nil)
  engine.configure(c)
  engine.main{no_report = true, done = end_of_files(cpus)}
  joined.handlers(router, cpus, app_of)
end

return copies
