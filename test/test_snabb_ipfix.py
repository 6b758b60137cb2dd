# SPDX-License-Identifier: Apache-2.0
"""Snabb's IPFIX probe (`snabb ipfix probe`), with SNABB=DIR, a Snabb checkout, in the
environment: from a capture file to nfcapd (nfdump), which must get every flow that the
capture holds, once from each exporter. It is asked and changed by `snabb config`."""

import collections
import os
import pathlib
import re
import shutil
import signal

import pytest
from scapy.layers.dns import DNS, DNSQR, DNSRR
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

from helpers.command import PERIGEE, run, running, tool, wait_until
from helpers.network import Namespace

SNABB = os.environ.get("SNABB")
COLLECTOR, PORT = "10.0.0.2", 4739

pytestmark = [
    pytest.mark.skipif(not SNABB, reason="SNABB names no checkout of Snabb"),
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and TAP interfaces need root"),
]

CONFIGURATION = """
snabbflow-config {
  interface { device "00:00.0"; }
  flow-director {
    class {
      exporter dnshttp;
      filter "(ip or ip6) and ((udp port 53) or tcp dst port 80)";
      continue true;
    }
    default-class { exporter ip; }
    remove-ipv6-extension-headers true;
  }
  ipfix {
    idle-timeout 3; active-timeout 60; flush-timeout 2; scan-time 0.1;
    exporter-ip 10.0.0.1;
    collector-pool { name c1; collector { ip %s; port %d; } }
    maps {
      pfx4-to-as { file "apps/ipfix/test/pfx4_to_as.csv"; }
      pfx6-to-as { file "apps/ipfix/test/pfx6_to_as.csv"; }
      vlan-to-ifindex { file "apps/ipfix/test/vlan_to_ifindex"; }
      mac-to-as { file "apps/ipfix/test/mac_to_as"; }
    }
    exporter {
      name ip; template "v4_extended"; template "v6_extended"; collector-pool c1;
    }
    exporter {
      name dnshttp; collector-pool c1;
      template "v4_HTTP"; template "v4_DNS"; template "v6_HTTP"; template "v6_DNS";
    }
  }
}
""" % (COLLECTOR, PORT)

# The templates' numbers, by version of IP and what they are for.
TEMPLATES = {(4, "all"): 1256, (4, "http"): 257, (4, "dns"): 258,
             (6, "all"): 1512, (6, "http"): 513, (6, "dns"): 514}


def ends(version, i):
    if version == 4:
        return IP(src=f"192.168.1.{1 + i}", dst="198.51.100.7")
    return IPv6(src=f"2001:db8::{1 + i:x}", dst="2001:4860::7")


def answer_to(query):
    ip, udp = query[0], query[UDP]
    layer = type(ip)(src=ip.dst, dst=ip.src)
    question = query[DNS].qd
    record = DNSRR(rrname=question.qname, type="A", rdata="192.0.2.1")
    return layer / UDP(sport=53, dport=udp.sport) / DNS(
        id=query[DNS].id, qr=1, qd=question, an=record)


def flows_of(version):
    """The flows of a version of IP: (kind, its packets)."""
    for i in range(30):
        yield "plain", [ends(version, i) / TCP(sport=2000 + i, dport=443, flags=flags)
                        for flags in ("S", "A", "FA")]
    for i in range(20 + version):
        yield "plain", [ends(version, i) / UDP(sport=3000 + i, dport=5000) / Raw(b"x" * i)] * 2
    for i in range(12 + version):
        request = b"GET /%d HTTP/1.1\r\nHost: www.example.org\r\n\r\n" % i
        yield "http", [ends(version, i) / TCP(sport=4000 + i, dport=80, flags="PA")
                       / Raw(request)]
    for i in range(15 + version):
        query = ends(version, i) / UDP(sport=5000 + i, dport=53) / DNS(
            id=i, rd=1, qd=DNSQR(qname=f"name{i}.example.org"))
        yield "dns", [query]
        yield "dns", [answer_to(query)]


def key_of(packet):
    """What tells a flow from others, as nfdump prints it."""
    ip = packet[0]
    l4 = ip.payload
    protocol = ip.proto if isinstance(ip, IP) else ip.nh
    return ip.src, ip.dst, protocol, l4.sport, l4.dport


def bytes_of(packets):
    return sum(len(bytes(p)) for p in packets)


class Site:
    """A namespace with the collector, and what the probe needs."""

    def __init__(self, place, capture):
        self.place, self.capture = place, capture
        self.source = pathlib.Path(SNABB, "src").resolve()
        self.records = place / "flows"
        self.records.mkdir()
        self.configuration = place / "probe.conf"
        self.configuration.write_text(CONFIGURATION)
        self.environment = {**os.environ, "SNABB_SHM_ROOT": str(place / "shm"),
                            "HOME": str(place)}
        self.namespace = Namespace("c")
        self.namespace.ip("address", "add", f"{COLLECTOR}/32", "dev", "lo")

    def snabb(self, *words):
        return self.namespace.command(
            "unshare", "--mount", "sh", "-c",
            '[ -w /proc/sys/net ] || mount -t proc proc /proc; exec "$@"', "sh",
            PERIGEE, "--eal", "--no-huge", "--snabb", self.source, *words)

    def options(self):
        return {"cwd": self.source, "env": self.environment}

    def config(self, command, path, *values):
        result = run(*self.snabb("config", command, "probe1", path, *values),
                     **self.options())
        return result.stdout.strip() if result.returncode == 0 else None

    def exported(self):
        """How many flows were exported, by template."""
        text = self.config("get-state", "/snabbflow-state/exporter") or ""
        found = {}
        for block in text.split("template {")[1:]:
            values = dict(re.findall(r"([\w-]+) (\d+);", block))
            found[int(values.get("id", 0))] = values.get("flows-exported")
        return found

    def listens(self):
        text = self.namespace.run("cat", "/proc/net/udp").stdout
        return f":{PORT:04X} " in text

    def collected(self):
        """How often each flow was recorded, with its packets and bytes."""
        found = collections.Counter()
        for file in self.records.glob("nfcapd.*"):
            text = run(tool("nfdump"), "-q", "-6", "-r", file, "-o",
                       "fmt:%sa|%da|%pr|%sp|%dp|%pkt|%byt").stdout
            for line in text.splitlines():
                words = [word.strip() for word in line.split("|")]
                if len(words) == 7:
                    source, to, protocol, sport, dport, count, size = words
                    number = {"TCP": 6, "UDP": 17}[protocol]
                    found[(source, to, number, int(sport), int(float(dport)), int(count),
                           int(size))] += 1
        return found


@pytest.fixture
def site(tmp_path):
    if not shutil.which("nfcapd", path=os.environ["PATH"] + ":/usr/sbin"):
        pytest.fail("nfcapd is missing: `make test` installs it (nfdump)")
    flows = [(version, *flow) for version in (4, 6) for flow in flows_of(version)]
    capture = tmp_path / "flows.pcap"
    wrpcap(str(capture), [Ether(src="00:11:22:33:44:55", dst="50:44:33:22:11:00") / p
                          for _, _, packets in flows for p in packets])
    place = Site(tmp_path, capture)
    place.flows = flows
    yield place
    place.namespace.remove()


def expected_records(flows):
    expected = collections.Counter()
    for _, kind, packets in flows:
        key = (*key_of(packets[0]), len(packets), bytes_of(packets))
        expected[key] += 1 if kind == "plain" else 2
    return expected


def expected_counts(flows):
    return {number: str(sum(1 for v, k, _ in flows if v == version and kind in ("all", k)))
            for (version, kind), number in TEMPLATES.items()}


def test_every_flow_reaches_the_collector(site):
    collector = site.namespace.command(tool("nfcapd"), "-p", PORT, "-b", COLLECTOR, "-w",
                                       site.records, "-t", "3600")
    probe = site.snabb("ipfix", "probe", "-n", "probe1", "-T", site.capture,
                       site.configuration)
    with running(*collector) as nfcapd:
        wait_until(site.listens, "nfcapd")
        with running(*probe, **site.options()) as snabb:
            expected = expected_counts(site.flows)
            wait_until(lambda: snabb.read() and site.exported() == expected,
                       "the flows", timeout=90)
            timeout = "/snabbflow-config/ipfix/idle-timeout"
            assert site.config("get", timeout) == "3"
            assert site.config("set", timeout, "5") is not None
            assert site.config("get", timeout) == "5"
            snabb.interrupt()
        nfcapd.interrupt(signal.SIGTERM)
    records = expected_records(site.flows)
    assert len(records) > 150
    assert site.collected() == records
