# SPDX-License-Identifier: Apache-2.0
"""The files that Perigee reads: of each format a small valid one, and the command that
reads it, in which @ stands for its path."""

import bz2
import dataclasses
import gzip
import json
import lzma
import struct

from helpers.capture import MICROSECONDS, NANOSECONDS, zstd
from helpers.capture_files import UDP, conversation, pcap, pcapng, pcapng_of_all_blocks
from helpers.command import ROOT

@dataclasses.dataclass
class Format:
    content: bytes
    words: list
    name: str = "file"
    code: bool = False  # it is Lua, whose errors are the author's
    status: int = 0  # of the command, when it is as it should be


def archive(files):
    """An ar(5) archive, as click-flatten and others write."""
    content = b"!<arch>\n"
    for name, data in files.items():
        content += f"{name + '/':<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(data):<10}`\n".encode()
        content += data + b"\n" * (len(data) % 2)
    return content


CLICK = b"""// a router
require(userlevel);
define($N 3, $D <0a 0b>)
elementclass Path { $n, PAINT $p | input -> c :: Counter -> Paint($p) -> output }
s :: InfiniteSource(DATA \\<00 01 "x">, LIMIT $N, STOP true);
s -> [0] p :: Path(1, PAINT 2) -> { -> Strip(1) -> } -> Queue(5) -> Unqueue
  -> Print(${N}) -> ip :: IPClassifier(tcp or udp port 53, -)[0, 1] => Discard, Discard;
Idle -> Classifier(12/0800 20/??01)[0] -> d :: Discard;
Script(print s.count, write c.reset)
"""
COMBINED = b"""A/FromDevice@1 :: FromDevice(e0);
B/ToDevice@2 :: ToDevice(e1);
link1 :: RouterLink(A ToDevice@2 ToDevice, "e1", B FromDevice@1 FromDevice, "e0");
A/FromDevice@1 -> link1 -> B/ToDevice@2;
"""
XFORM = b"""elementclass A { input -> Counter -> Paint($x) -> output }
elementclass A_Replacement { input -> Paint($x) -> output }
"""
SUMMARY = b"""!IPSummaryDump 1.3
!data timestamp ip_src sport ip_dst dport ip_proto ip_len tcp_flags count payload
1.5 10.0.0.1 80 10.0.0.2 81 T 60 SA 2 "x\\n\\001"
!bad comment
2 1.2.3.4 - 5.6.7.8 53 U 100 . 1 "ab"
!flowid 1.0.0.1 2 3.0.0.1 4 T
3 1.2.3.4 1 5.6.7.8 53 I 100 - 1 -
"""
SUMMARY_BINARY = b"!data ip_src ip_len count\n!binary\n" + (
    struct.pack(">I", 14) + bytes([1, 0, 0, 1]) + struct.pack(">HI", 60, 2)) * 2 \
    + struct.pack(">I", 0x80000000 | 12) + b"!comment"
TCPDUMP = b"""1.000001 IP 10.0.0.1.80 > 10.0.0.2.81: S 1:1(0) win 100 <mss 1460,nop,wscale 2>
1.000002 10.0.0.1.80 > 10.0.0.2.53: udp 20 (DF) [tos 0x10] (ttl 64, id 5)
1.000003 10.0.0.1 > 10.0.0.2: icmp: echo request (frag 12:34@56+)
"""
GRAPH_YAML = b"""# a graph
name: edge
ports:
  left: "null:size=64"
  right: {port: 'null', burst: 32}
apps:
  filter:
    class: apps.packet_filter.pcap_filter.PcapFilter
    arg: {filter: udp and not port 53}
    on_error: {policy: restart, times: 3, seconds: 1.5}
  cut: &a
    class: apps.basic.basic_apps.Truncate
    arg: 0x3c
links:
  - left -> filter -> cut -> right
description: |
  of two
  lines
"""
GRAPH_JSON = b"""{"name": "e\\u0041", "ports": {"in": "null:size=64", "out": "null"},
 "apps": {"cut": {"class": "apps.basic.basic_apps.Truncate", "arg": 6e1, "on_error": "stop"},
  "x": {"class": "apps.packet_filter.pcap_filter.PcapFilter", "arg": {"filter": "ip"}}},
 "links": ["in -> cut -> x -> out"], "description": "\\"", "keep": "k1"}
"""
VTEP_JSON = b"""{"inner": "null", "outer": "null", "address": "192.0.2.1/24", "mtu": 1400,
 "vnis": {"42": 0, "43": 5}, "remotes": ["192.0.2.2", {"address": "192.0.2.3",
 "mac": "02:00:00:00:00:01", "vnis": [42]}], "static": [], "duration": 0.02, "dscp": 8}
"""
VTEP_YAML = b"""inner: "null"
outer: "null"
address: 192.0.2.1/24
gateway: 192.0.2.254
vnis: {42: 0}
remotes: [192.0.2.2]
duration: 0.02
ageing: 10
"""
VTEP_LUA = b"""return {inner = "null", outer = "null", address = "192.0.2.1/24",
  vnis = {[42] = 0}, remotes = {"192.0.2.2"}, duration = 0.02}
"""
NFV = b"""return {
  { vlan = 431, mac_address = "52:54:00:00:00:01", port_id = "A",
    ingress_filter = "ip6 and tcp", tx_police = 1, rx_police = 2,
    tunnel = { type = "L2TPv3", local_cookie = "00000000", remote_cookie = "11111111",
      next_hop = "::2", local_ip = "::1", remote_ip = "::2", session = 1 } },
  { vlan = 0, mac_address = "52:54:00:00:00:02", port_id = "B",
    crypto = { type = "esp-aes-128-gcm", spi = 1,
      transmit_key = "00112233445566778899AABBCCDDEEFF", transmit_salt = "00112233",
      receive_key = "00112233445566778899AABBCCDDEEFF", receive_salt = "00112234" } },
}
"""
MODEL = json.dumps({"core_per_tsc": 1, "tsc_hz": 2e9, "ports": [
    {"name": "null", "cells": [{"burst": 32, "size": 60, "io": 12.5}],
     "model": {"per_packet": 10, "per_burst": 100, "per_byte": 0.1, "error": 0.01}}]}).encode()
GENERATE = b"""return {stack = "eth,ip4,tcp", set = {"tcpSyn=1"}, size = 72, rate = "10kpps",
  count = 5, payload = "hex:cafe", packet = function (pkt, i) pkt.tcp:setSrcPort(i) end}
"""
EDIT = b"""return function (p, pkt)
  p.data[0] = 2
  return true
end
"""
COUNTERS = b"""return {
   ["in-ipv4-packets"] = 2,
   ["drop-all-ipv4-iface-packets"] = 2,
}
"""
CTABLE = bytes.fromhex(
    "040000000300000000000000de2b8b5c4cdbc891970041a7cd2d8f1700000000cdccccccccccec3f"
    "0000000000000000440f1e1715000000030000000000000076f68c600700000001000000000000006e"
    "9651920e0000000200000000000000ffffffff000000000000000000000000")
MSCAP = struct.pack("<QI", 10**9, 1) + struct.pack("<QI", 2 * 10**9, 2)

SCRIPTS = {
    "ctable.lua": """
local ctable, ffi = require("lib.ctable"), require("ffi")
local u32 = ffi.typeof("uint32_t")
local bytes, at = io.open("file", "rb"):read("*a"), 0
local stream = {}
local function copy(to, size)
  if at + size > #bytes then error("perigee: the file ends too soon", 0) end
  ffi.copy(to, bytes:sub(at + 1, at + size), size)
  at = at + size
  return to
end
function stream:read_struct(to, type) return copy(to or type(), ffi.sizeof(type)) end
function stream:read_array(to, type, n) return copy(to, n * ffi.sizeof(type)) end
local function load()
  return ctable.load(stream, {key_type = u32, value_type = u32})
end
local ok, t = pcall(load)
if not ok then
  io.stderr:write(tostring(t), "\\n")
  os.exit(1)
end
for entry in t:iterate() do t:lookup_ptr(entry.key) end
for key = 0, 9 do t:add(u32(key), u32(key), true) end
for key = 0, 9 do t:remove(u32(key), true) end
""",
    "snabb.lua": """
local pcap = require("lib.pcap.pcap")
for data, record in pcap.records("file") do print(#data, record.ts_sec) end
""",
    "moongen.lua": """
local memory, pcap = require("memory"), require("pcap")
function master()
  local mem = memory.createMemPool{n = 100}
  local reader, n = pcap:newReader("file"), 0
  while true do
    local buf = reader:readSingle(mem)
    if not buf then break end
    n = n + buf:getSize()
    buf:free()
  end
  reader:close()
  print(n)
end
""",
    "mscap.lua": """
local ms = require("moonsniff-io")
function master()
  local reader = ms:newReader("file")
  for _ = 1, 10 do
    local r = reader:readSingle()
    if r then print(r.timestamp, r.identification) end
  end
end
""",
}
DUMP = b"T1\tP1\tname\tN1\t52:54:00:00:00:01\t1\tACTIVE\tD1\tcompute\n" \
    b"T1\tP2\t\tN1\t52:54:00:00:00:02\t1\tACTIVE\t\\N\tx\n"
BINDINGS = b"P1\thost\tvhostuser\tnormal\t{}\t" \
    b'{"zone_host": "host", "zone_port": "p0", "zone_vlan": 5, "zone_ip": "::1"}\n'
RULES = b"T1\tR1\tG1\t\\N\tingress\tIPv4\ttcp\t80\t81\t10.0.0.0/8\n"
DUMP_FILES = {"d/ports.txt": DUMP, "d/ml2_port_bindings.txt": BINDINGS,
              "d/securitygrouprules.txt": RULES,
              "d/securitygroupportbindings.txt": b"P1\tG1\n"}


def formats():
    """Name -> Format."""
    found = {}

    def add(kind, content, words, **more):
        found[kind] = Format(content, words.split(" "), **more)

    for order, end in ("<", "little"), (">", "big"):
        for magic, unit in (MICROSECONDS, "us"), (NANOSECONDS, "ns"):
            add(f"pcap, {end}, {unit}", pcap(order, magic), "echo pcap:rx=@,tx=/dev/null")
        add(f"pcapng, {end}", pcapng(order), "echo pcap:rx=@,tx=/dev/null")
    packed = gzip.compress(pcap("<", MICROSECONDS), mtime=0)
    add("pcap, gzip", packed, "echo pcap:rx=@,tx=/dev/null")
    add("pcap, zstd", zstd(pcap("<", MICROSECONDS)), "echo pcap:rx=@,tx=/dev/null")
    add("pcap, gzip, FromDump", packed,
        "click -e FromDump(@,STOP\ttrue)->Discard")
    for kind, pack in ("xz", lzma.compress), ("bzip2", bz2.compress):
        add(f"pcap, {kind}, FromDump", pack(pcap("<", MICROSECONDS)),
            "click -e FromDump(@,STOP\ttrue)->Discard")
    add("pcapng, all blocks", pcapng_of_all_blocks(), "echo pcap:rx=@,tx=/dev/null")
    add("pcapng, all blocks, FromDump", pcapng_of_all_blocks(),
        "click -e FromDump(@,STOP\ttrue)->Discard")
    add("pcap, replay", pcap("<", MICROSECONDS), "replay --topspeed @ null")
    add("pcapng, replay", pcapng("<"),
        "replay --topspeed --map-ip 10.0.0.0/8:11.0.0.0/8 @ null")
    add("pcapng, sides", pcapng("<"), "replay --topspeed --sides port @ null null")
    add("pcap, FromDump", pcap(">", NANOSECONDS), "click -e FromDump(@,STOP\ttrue)->Discard")
    add("pcapng, FromDump", pcapng("<"),
        "click -e FromDump(@,STOP\ttrue,FORCE_IP\ttrue)->IPPrint->Discard")
    add("click", CLICK, "click -q @")
    add("click-check", CLICK, "click-check @")
    add("click-flatten", CLICK, "click-flatten @")
    add("click-pretty", CLICK, "click-pretty @")
    add("click-undead", CLICK, "click-undead @")
    add("archive", archive({"config": b"Idle -> Discard;\nScript(stop)\n", "x.txt": b"abc"}),
        "click @")
    add("archive, click-uncombine", archive({"config": COMBINED,
                                             "componentmap": b"A\nB\n"}),
        "click-uncombine @ A")
    add("archive, click-flatten", archive({"config": b"Idle -> Discard;\n", "x": b"y"}),
        "click-flatten @")
    add("patterns", XFORM, "click-xform -e Idle->Counter->Paint(5)->Discard -p @")
    add("summary dump", SUMMARY, "click -e FromIPSummaryDump(@,STOP\ttrue)->Discard")
    add("summary dump, binary", SUMMARY_BINARY,
        "click -e FromIPSummaryDump(@,STOP\ttrue)->Discard")
    add("tcpdump", TCPDUMP, "click -e FromTcpdump(@,STOP\ttrue)->Discard")
    add("graph, YAML", GRAPH_YAML, "run @ -D 0.01 --no-report", name="file.yaml")
    add("graph, JSON", GRAPH_JSON, "run --check @", name="file.json")
    add("lwaftr", (ROOT / "examples/lwaftr/one.conf").read_bytes(),
        "lwaftr check -r @ IN IN OUT OUT6 COUNTERS", name="file.conf")
    add("lwaftr counters", COUNTERS, "lwaftr check CONF IN IN OUT OUT6 @", code=True,
        status=1)
    add("vtep, JSON", VTEP_JSON, "vtep --config @", name="file.json")
    add("vtep, YAML", VTEP_YAML, "vtep --config @", name="file.yaml")
    add("vtep, Lua", VTEP_LUA, "vtep --config @", code=True)
    add("nfv", NFV, "nfv traffic --dry-run soft @ SOCKET%s", code=True)
    add("nfv fuzz", b"return {ingress_filter = 2, egress_filter = 2, tunnel = true, "
        b"crypto = true, rx_police = 10}\n", "nfv fuzz @ OUT", code=True)
    add("model", MODEL, "model predict --task 100 --model @", name="file.json")
    add("generate --script", GENERATE, "generate --port null -c 3 --script @", code=True)
    for name, content in DUMP_FILES.items():
        add(f"neutron2snabb, {name[2:-4]}", content, "nfv neutron2snabb d made host",
            name=name)
    add("replay --edit", EDIT, "replay --topspeed --edit @ IN null", code=True)
    add("connect --template", pcap("<", MICROSECONDS, conversation()),
        "connect both --clients 10.0.0.1 --servers 10.0.0.2 -c 2 -D 0.1 --template @")
    add("payload", b"abc", "generate --port null -c 2 --payload file:@")
    add("pcap, packetblaster", pcap("<", MICROSECONDS), "packetblaster replay -D 0.01 @ null")
    add("pcap, loadtest", pcap("<", MICROSECONDS),
        "loadtest transient -b 1e6 -s 1e6 -D 0.01 --warm-up 0 @ null")
    add("pcap, lib.pcap.pcap", pcap("<", MICROSECONDS), "snsh snabb.lua")
    add("pcapng, moongen", pcapng(">"), "moongen moongen.lua")
    add("mscap", MSCAP, "moongen mscap.lua")
    add("ctable", CTABLE, "run ctable.lua", code=True)
    add("last-good", GRAPH_YAML, "run bad.yaml -D 0.01 --no-report --last-good good",
        name="good/graph.yaml")
    return found
