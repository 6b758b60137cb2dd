# SPDX-License-Identifier: Apache-2.0
"""What writes files, of all families, on a disk that becomes full, or that can't be
written: each says so in a sentence, and in its exit status."""

import os
import re

import pytest
from scapy.all import IP, UDP, Ether, wrpcap

from helpers.command import PERIGEE, run

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
    "AggregateCounter": ["click", "-e", "FromDump(@IN, STOP true, FORCE_IP true) -> AggregateIP(ip dst) "
                         "-> c :: AggregateCounter -> Discard; "
                         "DriverManager(wait, write c.write_text_file @OUT, stop)"],
    "Script": ["click", "-e", f"Script(set i 0, label l, set i $(add $i 1), "
               f"print >>@OUT '{'x' * 200}', goto l $(lt $i 900), stop)"],
}


@pytest.fixture(scope="module")
def packets(tmp_path_factory):
    path = tmp_path_factory.mktemp("disk") / "in.pcap"
    wrpcap(str(path), [Ether() / IP(dst=f"10.1.{i >> 8}.{i & 255}") / UDP(sport=i) /
                       (b"x" * 600) for i in range(1, 2000)])
    return path


def outcome(words, packets, tmp_path, options):
    disk = tmp_path / "disk"
    disk.mkdir()
    words = [w.replace("@IN", str(packets)).replace("@OUT", str(disk / "file"))
             for w in words]
    if "\n" in words[-1]:
        script = tmp_path / "script.lua"
        script.write_text(words.pop())
        words.append(script)
    return run("unshare", "-m", "sh", "-c",
               f'mount -t tmpfs -o {options} none {disk} || exit 99; exec "$@"', "sh",
               PERIGEE, *words)


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
