-- SPDX-License-Identifier: Apache-2.0
-- What the pages of elements say as well as what their classes say: `usage`,
-- the arguments of classes that read theirs in a way of their own, and `differs`, what
-- is not as in Click or FastClick. A class may have these two fields itself.

local usage = {}

local ROUTES = "ADDRESS/LENGTH [GATEWAY] OUTPUT, ..."
local ANYTHING = "..."

usage.usage = {
  AddressInfo = "NAME ADDRESS [ADDRESS...], ...",
  AlignmentInfo = ANYTHING,
  AnnotationInfo = "NAME OFFSET [LENGTH], ...",
  Classifier = "PATTERN, ... (one for each output)",
  ClickyInfo = ANYTHING,
  ControlSocket = "TCP, PORT or UNIX, FILENAME or SOCKET, FD [, keywords]",
  DPDKInfo = ANYTHING,
  Error = ANYTHING,
  FlowInfo = ANYTHING,
  HTTPServer = "[PORT] [, keywords]",
  IPClassifier = "EXPRESSION, ... (one for each output)",
  IPFilter = "ACTION EXPRESSION, ... (allow, deny, drop or an output)",
  JiffieClock = "[MINPRECISION]",
  LinearIPLookup = ROUTES, LookupIPRouteMP = ROUTES, StaticIPLookup = ROUTES,
  RadixIPLookup = ROUTES, DirectIPLookup = ROUTES, RangeIPLookup = ROUTES,
  Meter = "RATE, ...",
  PortInfo = "NAME PORT[/PROTOCOL], ...",
  ScheduleInfo = "ELEMENT TICKETS, ...",
  Script = "INSTRUCTION ARGUMENTS, ...",
  StaticThreadSched = "ELEMENT THREAD, ...",
  StoreIPAddress = "[ADDRESS,] OFFSET",
  StrideSched = "TICKETS, ... (one for each input)",
  StrideSwitch = "TICKETS, ... (one for each output)",
}

usage.differs = {
  AlignmentInfo = "It has no effect: Perigee needs no alignment.",
  ClickyInfo = "It has no effect.",
  DPDKInfo = "It has no effect: pools and queues grow as needed.",
  EnsureDPDKBuffer = "It has no effect: all packets are in DPDK's buffers.",
  FlowInfo = "It has no effect.",
  JiffieClock = "It has no effect: the clock costs little anyway.",
  Pipeliner = "What is behind it runs on another CPU only where StaticThreadSched says "
    .. "so. While the ring to that CPU is full sources that make packets or read files "
    .. "wait, with BLOCKING and without; what comes from devices is lost.",
  InfiniteSource = "Without DATA its packets have other contents.",
  RatedSource = "Without DATA its packets have other contents.",
  TimedSource = "Without DATA its packets have other contents.",
}

--- The text of `kind` ("usage", "differs") about the class, or nil.
function usage.of(class, kind)
  return class[kind] or usage[kind][class.name]
end

return usage
