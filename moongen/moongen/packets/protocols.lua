-- SPDX-License-Identifier: Apache-2.0
-- Headers as libmoon's programs know them: what differs from the definitions of
-- lib.stack. A change of a field says what it is called in C (`member`; `cell_name`
-- where fields share bytes), what `fill` sets (`default`), and how it is printed
-- (`text`, a format; `names` of values, and `other` for values without one).

local registry = require("lib.stack.registry")
local tables = require("core.lib.tables")

local protocols = {}

local SRC_MAC, DST_MAC = "01:02:03:04:05:06", "07:08:09:0a:0b:0c"
local HEX8, HEX16 = "0x%02x", "0x%04x"

-- The fields of lib.stack's definition with these changes; false leaves one out.
local function changed(name, subtype, changes)
  local def = registry.find(name).def
  local fields = {}
  for _, field in ipairs((subtype and def.subtypes[subtype] or def).fields) do
    local change = changes[field[1]]
    if change ~= false then
      fields[#fields + 1] = tables.copy(field, change)
    end
  end
  return fields
end

local ETHER_TYPES = {[0x0800] = "(IP4)", [0x86dd] = "(IP6)", [0x0806] = "(ARP)",
  [0x88f7] = "(PTP)", [0x8809] = "(LACP)", [0x8100] = "(VLAN)"}

local function ethernet(changes)
  changes.Dst, changes.Src = {default = DST_MAC}, {default = SRC_MAC}
  changes.Type = {text = HEX16, names = ETHER_TYPES, other = "(unknown)"}
  return changes
end

local IP_PROTOCOLS = {[1] = "(ICMP)", [17] = "(UDP)", [6] = "(TCP)", [50] = "(ESP)",
  [51] = "(AH)", [47] = "(GRE)"}
local PROTOCOL = {default = 17, text = HEX8, names = IP_PROTOCOLS, other = "(unknown)"}
local CHECKSUM = {member = "cs", text = HEX16}

protocols.eth = {
  line = "ETH {Src} > {Dst} type {Type}",
  fields = changed("eth", nil, ethernet{}),
  subtypes = {
    vlan = {
      line = "ETH {Src} > {Dst} vlan {VlanTag} type {Type}",
      fields = changed("eth", "vlan", ethernet{Tpid = {member = "vlan_id"},
        Pcp = {cell_name = "vlan_tag"}}),
      whole = {VlanTag = "vlan_tag"},
    },
    qinq = {
      line = "ETH {Src} > {Dst} outerVlan {OuterVlanTag} innerVlan {InnerVlanTag}"
        .. " type {Type}",
      fields = changed("eth", "qinq", ethernet{
        OuterVlanId = {member = "outer_vlan_id", default = 0x8100},
        InnerVlanId = {member = "inner_vlan_id"},
        OuterPcp = {cell_name = "outer_vlan_tag"},
        InnerPcp = {cell_name = "inner_vlan_tag"},
        OuterVlanTag = {default = 0}, InnerVlanTag = {default = 0}}),
      whole = {OuterVlanTag = "outer_vlan_tag", InnerVlanTag = "inner_vlan_tag"},
    },
  },
}

protocols.ip4 = {
  line = "IP4 {Src} > {Dst} ver {Version} ihl {HeaderLength} tos {TOS} len {Length}"
    .. " id {ID} flags {Flags} frag {Fragment} ttl {TTL} proto {Protocol}"
    .. " cksum {Checksum} [{Options}]",
  variable = "options", lengths = {"HeaderLength", 4, 20},
  fields = changed("ip4", nil, {
    Version = {cell_name = "verihl"}, TOS = {member = "tos"},
    Length = {member = "len", default = 48}, ID = {member = "id"},
    Flags = {cell_name = "frag", values = {}}, TTL = {member = "ttl"},
    Protocol = PROTOCOL, Checksum = CHECKSUM,
  }),
}

protocols.ip6 = {
  line = "IP6 {Src} > {Dst} ver {Version} tc {TrafficClass} fl {FlowLabel}"
    .. " len {Length} next {NextHeader} ttl {TTL}",
  fields = changed("ip6", nil, {
    Version = {cell_name = "vtf"}, Length = {member = "len", default = 8},
    TTL = {member = "ttl"},
    NextHeader = tables.copy(PROTOCOL, {
      names = tables.copy(IP_PROTOCOLS, {[58] = "(ICMP)"})}),
  }),
}

protocols.arp = {
  fields = changed("arp", nil, {
    HardwareAddressType = {member = "hrd", names = {"Ethernet"}, text = HEX16},
    ProtoAddressType = {member = "pro", names = {[0x0800] = "IPv4"}, text = HEX16},
    HardwareAddressLength = {member = "hln"}, ProtoAddressLength = {member = "pln"},
    Operation = {member = "op", values = {"Request", "Reply"}},
    HardwareSrc = {member = "sha", default = SRC_MAC},
    ProtoSrc = {member = "spa", default = "0.1.2.3"},
    HardwareDst = {member = "tha", default = DST_MAC},
    ProtoDst = {member = "tpa", default = "4.5.6.7"},
  }),
}

local ICMP_TYPES = {[0] = "(echo reply)", [8] = "(echo request)", [3] = "(dst. unr.)",
  [11] = "(time exceeded)"}

protocols.icmp = {
  line = "ICMP type {Type} code {Code} cksum {Checksum} body <some data> ",
  variable = "body",
  fields = changed("icmp", nil, {
    Type = {text = "%d", names = ICMP_TYPES, other = "(unknown)"},
    Checksum = CHECKSUM,
  }),
  labels = {"MessageBody"},
}

protocols.udp = {
  line = "UDP {SrcPort} > {DstPort} len {Length} cksum {Checksum}",
  fields = changed("udp", nil, {Length = {member = "len", default = 28},
    Checksum = CHECKSUM}),
}

local function flag(name)
  return {names = {[true] = name, [false] = "-"}}
end

protocols.tcp = {
  line = "TCP {SrcPort} > {DstPort} seq# {SeqNumber} ack# {AckNumber}"
    .. " offset {DataOffset} reserved {Reserved} flags {Flags}"
    .. " [{Urg}|{Ack}|{Psh}|{Rst}|{Syn}|{Fin}] win {Window} cksum {Checksum}"
    .. " urg {UrgentPointer} [{Options}]",
  variable = "options", lengths = {"DataOffset", 4, 20},
  methods = require("lib.stack.body.tcp_options"),
  fields = changed("tcp", nil, {
    SrcPort = {default = 1025}, DstPort = {default = 1024},
    DataOffset = {cell_name = "offset", text = "0x%01x"}, Reserved = {text = HEX8},
    Cwr = {cell_name = "flags"}, Flags = {text = HEX8}, Window = {default = 29200},
    Checksum = CHECKSUM, Urg = flag("URG"), Ack = flag("ACK"), Psh = flag("PSH"),
    Rst = flag("RST"), Syn = flag("SYN"), Fin = flag("FIN"),
  }),
}

local PTP_MESSAGES = {[0] = "(sync)", [1] = "(delay req)", [8] = "(follow up)",
  [9] = "(delay resp)"}
local PTP_CONTROLS = {[0] = "(sync)", "(delay req)", "(follow up)", "(delay resp)"}

protocols.ptp = {
  line = "PTP typ {MessageType} ver {Version} len {Length} dom {Domain} res {Reserved}"
    .. " fla {Flags} cor {Correction} res {Reserved2} oui {Oui} uuid {Uuid}"
    .. " nod {NodePort} seq {SequenceID} ctrl {Control} log {LogMessageInterval}",
  fields = changed("ptp", nil, {
    TransportSpecific = false, Reserved0 = false,
    MessageType = {[2] = 8, text = HEX8, names = PTP_MESSAGES, other = "(unknown)",
      aliases = {"MessageTyp"}},
    Version = {[2] = 8, member = "versionPTP"},
    Length = {member = "len", default = 44}, Reserved = {text = HEX8},
    Flags = {text = HEX16}, Correction = {text = "0x%016x", signed = false},
    Reserved2 = {text = "0x%08x"},
    Oui = {text = "0x%06x"}, Uuid = {text = "0x%010x"},
    NodePort = {member = "ptpNodePort"}, SequenceID = {member = "sequenceId"},
    Control = {text = HEX8, names = PTP_CONTROLS, other = "(unknown)"},
  }),
}

protocols.vxlan = {
  line = "VXLAN flags {Flags} res {Reserved} vni {VNI} res {Reserved2}",
  fields = changed("vxlan", nil, {Flags = {text = HEX8}, Reserved = {text = "0x%06x"},
    VNI = {text = "0x%06x", member = "vni"}, Reserved2 = {text = HEX8}}),
}

protocols.gre = {
  line = "GRE Flags {FlagsAndVersion} Proto {ProtoType}",
  fields = {
    {"FlagsAndVersion", 16, label = "Flags", member = "flags_and_version",
      text = HEX16},
    {"ProtoType", 16, label = "Proto", member = "protocol_type", default = 0x6558,
      text = HEX16},
  },
}

protocols.esp = {
  line = "ESP spi {SPI} sqn {SQN} iv {IV}",
  fields = changed("esp", nil, {SPI = {member = "spi", text = "0x%08x"},
    SQN = {member = "sqn"}, IV = {member = "iv", text = "0x%016x"}}),
}

protocols.ah = {
  line = "AH spi {SPI} sqn {SQN} iv {IV} icv {ICV} next_hdr {NextHeader} len {Length}",
  fields = changed("ah", "gmac", {SPI = {member = "spi", text = "0x%08x"},
    NextHeader = {default = 0}, Length = {member = "len", default = 7},
    SQN = {member = "sqn"}, IV = {member = "iv", text = "0x%016x"},
    ICV = {member = "icv"}}),
}

protocols.dns = {
  line = "DNS Transation ID: {Id} Response/Query: {QR} Kind of query: {OPCode}"
    .. " Authoritative Answer: {AA} Truncated message: {TC} Recursion desired: {RD}"
    .. " Recursion available: {RA} Response Code: {RCode} QDCount: {QDCount}"
    .. " ANCount: {ANCount} NSCount: {NSCount} ARCount: {ARCount}",
  variable = "body", methods = registry.find("dns").def.methods,
  fields = changed("dns", nil, {Id = {member = "id"}, QR = {cell_name = "hdrflags"},
    QDCount = {member = "qdcount"}, ANCount = {member = "ancount"},
    NSCount = {member = "nscount"}, ARCount = {member = "arcount"}}),
  labels = {"MessageContent"},
}

protocols.ipfix = {
  line = "ipfix >  version {Version} length {Length} export time {ExportTime}"
    .. " sequence number {Seq} observation domain id {ObservationDomain}",
  fields = changed("ipfix", nil, {ExportTime = {member = "export_time"},
    Length = {default = 16},
    Seq = {member = "sequence_number"},
    ObservationDomain = {member = "observation_domain_id"}}),
}

local function sflow(subtype)
  return {
    line = "sFlowv5, agent IP {AgentIp}, sub agent id {SubAgentId}, seq {Seq},"
      .. " uptime {Uptime}, samples {NumSamples}",
    variable = "payload", methods = registry.find("sflow").def.methods,
    fields = changed("sflow", subtype, {AgentIpType = {member = "agent_ip_type"},
      AgentIp = {member = "agent_ip"}, SubAgentId = {member = "sub_agent_id"},
      NumSamples = {member = "num_samples"}}),
  }
end

protocols.sflow = sflow()
protocols.sflow.subtypes = {ip6 = sflow("ip6")}
protocols.sflow.default = "ip4"

return protocols
