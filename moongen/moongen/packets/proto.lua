-- SPDX-License-Identifier: Apache-2.0
-- libmoon's modules of protocols (proto.ip4, ...): constants, the methods of their
-- headers (`metatype`), and the members as C has them (`headerFormat`). The table that
-- is returned has all of them, and those that a program adds.

local bit = require("bit")
local headers = require("moongen.packets.headers")
local protocols = require("moongen.packets.protocols")
local stack = require("moongen.packets.stack")

-- Compiling what runs a few times takes longer than running it.
jit.off(true, true)

local proto = stack.proto

local CONSTANTS = {
  eth = {TYPE_IP = 0x0800, TYPE_ARP = 0x0806, TYPE_IP6 = 0x86dd, TYPE_PTP = 0x88f7,
    TYPE_8021Q = 0x8100, TYPE_LACP = 0x8809, BROADCAST = "ff:ff:ff:ff:ff:ff",
    NULL = "00:00:00:00:00:00", defaultType = "default"},
  ip4 = {PROTO_ICMP = 0x01, PROTO_TCP = 0x06, PROTO_UDP = 0x11, PROTO_GRE = 0x2f,
    PROTO_ESP = 0x32, PROTO_AH = 0x33, PROTO_SCTP = 0x84, NULL = "0.0.0.0",
    headerVariableMember = "options"},
  ip6 = {PROTO_ICMP = 0x3a, PROTO_TCP = 0x06, PROTO_UDP = 0x11, PROTO_GRE = 0x2f,
    PROTO_ESP = 0x32, PROTO_AH = 0x33},
  arp = {HARDWARE_ADDRESS_TYPE_ETHERNET = 1, PROTO_ADDRESS_TYPE_IP = 0x0800,
    OP_REQUEST = 1, OP_REPLY = 2},
  icmp = {ECHO_REPLY = {type = 0, code = 0}, ECHO_REQUEST = {type = 8, code = 0},
    DST_UNR_PORT_UNR = {type = 3, code = 3},
    TIME_EXCEEDED_TTL_EXPIRED = {type = 11, code = 0}, headerVariableMember = "body"},
  udp = {PORT_DNS = 53, PORT_PTP_EVENTS = 319, PORT_PTP_GENERAL_MESSAGES = 320,
    PORT_IPFIX = 4739, PORT_VXLAN = 4789, PORT_SFLOW = 6343},
  tcp = {option = {err = -1, eol = 0, nop = 1, mss = 2, ws = 3, ts = 8,
    [-1] = "err", [0] = "eol", [1] = "nop", [2] = "mss", [3] = "ws", [8] = "ts"},
    headerVariableMember = "options"},
  ptp = {TYPE_SYNC = 0, TYPE_DELAY_REQ = 1, TYPE_FOLLOW_UP = 8, TYPE_DELAY_RESP = 9,
    CONTROL_SYNC = 0, CONTROL_DELAY_REQ = 1, CONTROL_FOLLOW_UP = 2,
    CONTROL_DELAY_RESP = 3},
  gre = {PROTO_TEB = 0x6558},
  sflow = {RECORD_TYPE_FLOW_SAMPLE_BE = bit.bswap(1), RECORD_TYPE_EXT_SWITCH_DATA_BE =
    0xe9030000, RECORD_TYPE_RAW_PACKET_BE = bit.bswap(1), defaultType = "ip4"},
}

-- Methods and members of a header type.
local function describe(module, type_)
  module.metatype = type_.methods
  module.headerFormat = type_.layout.declaration:match("^struct { (.*) } __")
  return module
end

local function new_module(name)
  local module = {}
  for key, value in pairs(CONSTANTS[name] or {}) do module[key] = value end
  describe(module, headers.type_of(name, nil, 0))
  local default = module.defaultType
  if default then module[default] = describe({}, headers.type_of(name, nil, 0)) end
  for subtype in pairs(protocols[name].subtypes or {}) do
    module[subtype] = describe({}, headers.type_of(name, subtype, 0))
  end
  return module
end

for name in pairs(protocols) do proto[name] = new_module(name) end

-- IPFIX's sets, made as libmoon makes them.
for name, member in pairs(require("lib.stack.body.ipfix")) do
  proto.ipfix[name] = member
end

--- Bytes of the IPFIX header.
function proto.ipfix.getHeadersLength() return 16 end

proto.ethernet = proto.eth
proto.lacp = require("moongen.packets.lacp_header")

return proto
