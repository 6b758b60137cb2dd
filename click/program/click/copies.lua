-- SPDX-License-Identifier: Apache-2.0
-- A configuration on several CPUs: copies of the whole router, each with a queue of
-- each device, where it matters to no element that others see the other flows.

local affinity = require("core.cpus.affinity")
local config = require("core.config")
local engine = require("core.app")
local placement = require("core.cpus.placement")

local copies = {}

--- The names of elements that keep nothing of one packet for others, or nothing but
--- counts: a set.
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
]]):gmatch("%S+") do COPIED[name] = true end

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

local OWN_THREAD = {handlers = "-h", exit_handler = "-x", ports = "-p",
  unix_sockets = "-u", sockets = "--socket", allow_reconfigure = "-R",
  simtime = "--simtime"}

local function asked_for(value)
  return value and (type(value) ~= "table" or next(value) ~= nil)
end

--- Why there can't be `n` copies of the router (which isn't running), a sentence; nil:
--- there can.
function copies.problem(router, o, n)
  for field, option in pairs(OWN_THREAD) do
    if asked_for(o[field]) then return ("%s needs one router"):format(option) end
  end
  for _, e in ipairs(router.elements) do
    if not COPIED[e.class.name] then
      return ("%s :: %s sees all packets, or the router"):format(e.name, e.class.name)
    end
  end
  local devices = router.devices and router.devices.by_text or {}
  if not next(devices) then return "it receives from no device" end
  local Port = require("apps.port.port").Port -- with all kinds of ports
  for _, device in pairs(devices) do
    local receives = #device.receivers > 0
    if receives and not Port.split({port = device.text}, n, 0) then
      return ("port '%s' has one queue"):format(device.text)
    end
  end
end

--- Run copies of the configuration `text` on the CPUs of the list, until a signal
--- comes.
function copies.run(text, o, cpus)
  local c = config.new()
  local Click = require("apps.click.click").Click
  for i, cpu in ipairs(cpus) do
    local name = "click_" .. i
    config.app(c, name, Click, {text = text, variables = o.variables,
      devices = o.devices, copy = {number = i - 1, of = #cpus}})
    config.cpu(c, name, cpu)
  end
  placement.use(nil)
  engine.configure(c)
  engine.main{no_report = true}
end

return copies
