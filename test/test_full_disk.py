# SPDX-License-Identifier: Apache-2.0
"""What writes files, of all families, on a disk that becomes full, or that can't be
written: each says so in a sentence, and in its exit status."""

import os
import re

import pytest
from scapy.all import IP, UDP, Ether, wrpcap

from helpers.command import PERIGEE, ROOT, run
from helpers.file_formats import DUMP_FILES

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")

PCAP_WRITER = """
local pcap = require("apps.pcap.pcap")
local c = config.new()
config.app(c, "from", pcap.PcapReader, "@IN")
config.app(c, "to", pcap.PcapWriter, "@OUT")
config.link(c, "from.output -> to.input")
engine.configure(c)
engine.main{duration = 2, no_report = true}
"""
LOG = """
local log = require("log")
function master()
  log.file = "@OUT"
  log:fileEnable()
  for _ = 1, 10000 do log:info(("x"):rep(70)) end
end
"""

MOONGEN_PCAP = """
local memory, pcap = require("memory"), require("pcap")
function master()
  local writer, buf = pcap:newWriter("@OUT"), memory.createMemPool():alloc(600)
  for i = 1, 100 do writer:writeBuf(i / 10, buf) end
  writer:close()
end
"""
MSCAP = """
function master()
  local writer = require("moonsniff-io"):newWriter("@OUT")
  for i = 1, 3000 do writer:write(i, i) end
  writer:close()
end
"""
LIB_PCAP = """
local pcap, packet = require("lib.pcap.pcap"), require("core.packet")
local file, p = io.open("@OUT", "w"), packet.from_string(("x"):rep(600))
if not file then os.exit(1, print("can't be written")) end
pcap.write_file_header(file)
for _ = 1, 100 do pcap.write_record(file, p.data, p.length) end
file:close()
"""
CSV = """
local c = config.new()
config.app(c, "csv", require("apps.csv").CSV, "@DIR")
for i = 1, 999 do
  config.app(c, "app" .. i, require("apps.basic.basic_apps").Sink)
end
engine.configure(c)
engine.main{duration = 3, no_report = true}
"""
GRAPH = """
apps:
  t: {class: apps.pcap.tap.Tap, arg: "@OUT"}
  s: apps.basic.basic_apps.Sink
ports: {a: "pcap:rx=@IN"}
links: [a -> t -> s]
"""
# Name: words, or the text of a script behind them.
WRITERS = {
    "echo": ["echo", "pcap:rx=@IN,tx=@OUT"],
    "echo, pcapng": ["echo", "pcap:rx=@IN,tx=@OUT.pcapng"],
    "capture": ["capture", "pcap:rx=@IN", "@OUT"],
    "generate": ["generate", "-c", "10000", "--port", "pcap:tx=@OUT"],
    "replay": ["replay", "@IN", "pcap:tx=@OUT"],
    "PcapWriter": ["run", PCAP_WRITER],
    "lwaftr generate": ["lwaftr", "generate", "-o", "@OUT", "1.2.3.4", "5000", "::1", "::2",
                        "6"],
    "moongen log": ["moongen", LOG],
    "ToDump": ["click", "-e", "FromDump(@IN, STOP true) -> ToDump(@OUT)"],
    "ToIPSummaryDump": ["click", "-e", "FromDump(@IN, STOP true) -> ToIPSummaryDump(@OUT, "
                        "FIELDS ip_src ip_dst sport dport payload)"],
    "AggregateIPFlows": ["click", "-e", "FromDump(@IN, STOP true, FORCE_IP true) -> "
                         "AggregateIPFlows(TRACEINFO @OUT) -> Discard"],
    "IPPrint": ["click", "-e",
                "FromDump(@IN, STOP true, FORCE_IP true) -> "
                "IPPrint(a, CONTENTS hex, OUTFILE @OUT) -> Discard"],
    "AggregateCounter": ["click", "-e", "FromDump(@IN, STOP true, FORCE_IP true) "
                         "-> AggregateIP(ip dst) "
                         "-> c :: AggregateCounter -> Discard; "
                         "DriverManager(wait, write c.write_text_file @OUT, stop)"],
    "capture, pcapng": ["capture", "--pcapng", "pcap:rx=@IN", "@OUT"],
    "packets that are recorded": ["record", "--folder", "@DIR", "--when", "udp",
                                  "pcap:rx=@IN"],
    "flows": ["record", "--flows", "@OUT", "--folder", "/tmp", "pcap:rx=@IN"],
    "moongen pcap": ["moongen", MOONGEN_PCAP],
    "mscap": ["moongen", MSCAP],
    "lib.pcap.pcap": ["snsh", LIB_PCAP],
    "CSV": ["run", CSV],
    "click -o": ["click", "-q", "-o", "@OUT", "-e",
                 "Idle -> Print(" + "x" * 20000 + ") -> Discard"],
    "click-flatten": ["click-flatten", "-o", "@OUT", "-e",
                      "Idle -> Print(" + "x" * 20000 + ") -> Discard"],
    "click-pretty": ["click-pretty", "-o", "@OUT", "-e",
                     "Idle -> Print(" + "x" * 20000 + ") -> Discard"],
    "Script": ["click", "-e", f"Script(set i 0, label l, set i $(add $i 1), "
               f"print >>@OUT '{'x' * 200}', goto l $(lt $i 900), stop)"],
}

# Those that write little: nothing finds room.
SMALL = {
    "generate --histogram": ["generate", "-c", "2000", "--port", "ring:r", "--receive",
                             "ring:r", "--histogram", "@OUT"],
    "neutron": ["nfv", "neutron2snabb", "@DUMP", "@DIR", "host"],
    "spread --plot": ["spread", "--every", "600", "--packets", "1900",
                      "--plot", "@OUT", "@IN"],
    "model predict --plot": ["model", "predict", "--task", "100", "--io", "10", "--ghz", "2",
                             "--plot", "@OUT.html"],
    "generate --json": ["generate", "-c", "20", "--port", "null", "--json", "@OUT"],
    "generate --json-lines": ["generate", "-c", "20", "--port", "null", "--json-lines",
                              "@OUT"],
    "replay --json": ["replay", "--topspeed", "--json", "@OUT", "@IN", "null"],
    "record --json": ["record", "--json", "@OUT", "--folder", "/tmp", "pcap:rx=@IN"],
    "capture --json": ["capture", "-c", "5", "--json", "@OUT", "pcap:rx=@IN",
                       "/dev/null"],
    "doctor --json": ["doctor", "-D", "0.1", "--json", "@OUT", "generate", "--port", "null"],
    "connect --json": ["connect", "both", "--clients", "10.0.0.1", "--servers", "10.0.0.2",
                       "-c", "2", "--json", "@OUT"],
    "connect --plot": ["connect", "both", "--clients", "10.0.0.1", "--servers", "10.0.0.2",
                       "-c", "2", "--plot", "@OUT.svg"],
    "loadtest --bench-file": ["loadtest", "transient", "-b", "1e6", "-s", "1e6", "-D", "0.01",
                              "--warm-up", "0", "--bench-file", "@OUT", "@IN", "null"],
    "lwaftr bench -b": ["lwaftr", "bench", "-D", "1.5", "-b", "@OUT", "@CONF", "@IN", "@IN"],
    "vtep --state": ["vtep", "--inner", "null", "--outer", "null", "--address",
                     "192.0.2.1/24", "--vni", "5", "--duration", "0.02", "--state", "@OUT"],
    "vtep --json": ["vtep", "--inner", "null", "--outer", "null", "--address",
                    "192.0.2.1/24", "--vni", "5", "--duration", "0.02", "--json", "@OUT"],
    "click-xform": ["click-xform", "-o", "@OUT", "-e", "Idle -> Discard"],
}

# Configurations: a file that is there keeps what it has.
KEPT = {
    "click -o": ["click", "-q", "-o", "@OUT", "-e", "Idle -> Discard"],
    "click-flatten": ["click-flatten", "-o", "@OUT", "@OUT"],
    "click-combine": ["click-combine", "-o", "@OUT", "a=@OUT"],
    "nfv fuzz": ["nfv", "fuzz", "@SPEC", "@OUT"],
    "store_conf": ["run", """
require("core.lib").store_conf("@OUT", {a = 5})
"""],
    "lwaftr generate": ["lwaftr", "generate", "-o", "@OUT", "1.2.3.4", "5", "::1", "::2", "6"],
}
CONTENT = "Idle -> Discard;\n"


@pytest.fixture(scope="module")
def packets(tmp_path_factory):
    path = tmp_path_factory.mktemp("disk") / "in.pcap"
    wrpcap(str(path), [Ether() / IP(dst=f"10.1.{i >> 8}.{i & 255}") / UDP(sport=i) /
                       (b"x" * 600) for i in range(1, 2000)])
    return path


def outcome(words, packets, tmp_path, options, before=":", **kwargs):
    disk = tmp_path / "disk"
    disk.mkdir()
    words = [w.replace("@IN", str(packets)).replace("@OUT", str(disk / "file"))
             .replace("@DIR", str(disk)).replace("@DUMP", str(tmp_path / "dump"))
             .replace("@CONF", str(ROOT / "examples/lwaftr/one.conf"))
             .replace("@SPEC", str(tmp_path / "spec"))
             for w in words]
    (tmp_path / "dump").mkdir()
    (tmp_path / "spec").write_text("return {}")
    for name, content in DUMP_FILES.items():
        (tmp_path / "dump" / name[2:]).write_bytes(content)
    if "\n" in words[-1]:
        script = tmp_path / "script.lua"
        script.write_text(words.pop())
        words.append(script)
    return run("unshare", "-m", "sh", "-c",
               f'mount -t tmpfs -o {options} none {disk} || exit 99; cd {disk}; {before}; '
               f'"$@"; status=$?; test ! -e file || cp file {tmp_path}/after; '
               'exit $status', "sh", PERIGEE, *words, **kwargs)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("options, reason", [
    ("size=16k", "No space left on device"), ("ro", "Read-only file system|can't be written")],
    ids=["full", "read-only"])
def test_what_cannot_be_written_is_told(name, options, reason, packets, tmp_path):
    result = outcome(WRITERS[name], packets, tmp_path, options)
    said = result.stdout + result.stderr
    assert re.search(reason, said), said
    assert result.returncode in ((1,) if options != "ro" else (1, 2)), said
    assert "stack traceback" not in said


FILL = "head -c 16k /dev/zero >filler 2>/dev/null"


@pytest.mark.parametrize("name", SMALL)
def test_what_finds_no_room_is_told(name, packets, tmp_path):
    result = outcome(SMALL[name], packets, tmp_path, "size=16k", FILL)
    said = result.stdout + result.stderr
    assert re.search(r"disk/\S*: No space left on device", said), said
    assert result.returncode == 1, said
    assert "stack traceback" not in said


@pytest.mark.parametrize("name", KEPT)
def test_what_is_there_is_kept(name, packets, tmp_path):
    result = outcome(KEPT[name], packets, tmp_path, "size=16k",
                     f"echo '{CONTENT[:-1]}' >file; {FILL}")
    said = result.stdout + result.stderr
    assert "No space left on device" in said, said
    assert result.returncode == 1, said
    assert "stack traceback" not in said
    assert (tmp_path / "after").read_text() == CONTENT


@pytest.mark.parametrize("name", WRITERS)
def test_a_limit_on_the_size_of_files_is_told(name, packets, tmp_path):
    """Files of 16 KB: shared memory may be refused first. No signal (SIGXFSZ) ends it."""
    result = outcome(WRITERS[name], packets, tmp_path, "size=64m", "ulimit -f 32")
    said = result.stdout + result.stderr
    assert "File too large" in said, said
    assert result.returncode in (1, 2), said
    assert "stack traceback" not in said
