# SPDX-License-Identifier: Apache-2.0
"""Checks of MoonGen's examples."""

import re
import struct

from scapy.all import IP, TCP, UDP, Ether, IPv6

from runs import RING, TESTS, capture, expect, good_checksums, rate, test


@test
def l3_load_latency(run):
    run.script("moongen/examples/l3-load-latency.lua", 0, 1, "-r", 10, "-f", 4,
               ports=RING, interrupt=6)
    run.has(r"Destination mac: 02:50:47:00:00:01")
    n, average = run.has(r"Samples: (\d+), Average: ([\d.]+) ns").groups()
    expect(int(n) > 0 and 0 < float(average) < 1e7, "the histogram")
    rows = (run.folder / "histogram.csv").read_text().split()
    expect(sum(int(row.split(",")[1]) for row in rows) == int(n), "histogram.csv")


@test
def l2_load_latency(run):
    run.script("moongen/examples/l2-load-latency.lua", 0, 1, "-r", 10, ports=RING,
               interrupt=5)
    expect(int(run.has(r"Samples: (\d+)")[1]) > 0, "no samples")


@test
def l2_poisson(run):
    run.script("moongen/examples/l2-poisson-load-latency.lua", 0, 1, "-r", 0.05,
               ports=["pcap:tx=0.pcap", "null"], interrupt=4,
               until=run.has_sent(150000, "0.pcap", 60))
    reached = rate(run.times("0.pcap"), 5e4)
    expect(abs(reached - 5e4) < 1e3, f"{reached} packets a second: {run.said[-300:]}")


def rate_control(method, pattern):
    # Mpps, but for the limiter's own pattern microseconds between packets.
    asked = 10 if (method, pattern) == ("sw", "custom") else 0.1

    refused = (method, pattern) in (("hw", "poisson"), ("hw", "custom"))

    def run_it(run):
        run.script("moongen/examples/rate-control-methods.lua", 0, asked, method, pattern,
                   ports=["pcap:tx=0.pcap"], interrupt=3,
                   until=run.has_sent(0 if refused else 300000, "0.pcap", 60))
        if refused:
            run.has("HW only supports CBR")
            return
        reached = rate(run.times("0.pcap"), 1e5)
        expect(abs(reached - 1e5) < 1e3, f"{reached} packets a second: {run.said[-300:]}")
    TESTS[f"rate_control_{method}_{pattern}"] = run_it


for METHOD in ("hw", "sw", "moongen"):
    for PATTERN in ("cbr", "poisson", "custom"):
        rate_control(METHOD, PATTERN)


@test
def tcp_syn_flood(run):
    run.script("moongen/examples/l3-tcp-syn-flood.lua", 0, "-r", 10, "-i", "10.0.0.1",
               "-d", "10.1.0.1", "-f", 100, ports=["pcap:tx=0.pcap"], interrupt=2)
    raw = run.packets("0.pcap")[:1000]
    sent = [Ether(p) for p in raw]
    expect({p[IP].src for p in sent} == {f"10.0.0.{i}" for i in range(1, 101)}, "sources")
    expect(all(p[TCP].flags == "S" and p[TCP].seq == 1 and p[TCP].window == 10
               and p.dst == "00:00:00:00:00:00" for p in sent), "headers")
    expect(all(good_checksums(p) for p in raw[:100]), "checksums")


@test
def tcp_syn_flood_ip6(run):
    run.script("moongen/examples/l3-tcp-syn-flood.lua", 0, "-r", 10, "-i", "fd00::1",
               "-d", "fd00::2", "-f", 100, ports=["pcap:tx=0.pcap"], interrupt=2)
    sent = run.packets("0.pcap")
    expect(all(IPv6 in Ether(p) and len(p) == 74 for p in sent[:500]), "packets")
    expect(all(good_checksums(p) for p in sent[:100]), "checksums")


@test
def replay_pcap(run):
    sent = run.traffic()
    run.script("moongen/examples/pcap/replay-pcap.lua", 0, "in.pcap", "-s", 1,
               ports=["pcap:tx=0.pcap"])
    expect([p for p in run.packets("0.pcap")] == sent, "0.pcap differs")


@test
def vxlan(run):
    sent = run.traffic()
    run.script("moongen/examples/vxlan-example.lua", 1, 0, 1, 0, interrupt=1,
               until=run.holds(sent, "1.pcap", more=50),
               ports=["pcap:rx=in.pcap", "pcap:tx=1.pcap"])
    got = run.packets("1.pcap")
    expect([p[50:] for p in got] == sent, "inner packets differ")
    expect(all(p[46:49] == (1000).to_bytes(3, "big") for p in got), "VNI")


QUALITY_OF_SERVICE = "moongen/examples/quality-of-service-test.lua"


@test
def quality_of_service(run):
    """What is sent to a ring is received, and has latencies."""
    run.script(QUALITY_OF_SERVICE, 0, 1, "-f", 10, "-b", 40, ports=RING, interrupt=5)
    for n in (42, 43):
        sent, got = (int(run.has(rf"\[Port {n}\] {way}: .* total (\d+) packets")[1])
                     for way in ("TX", "RX"))
        expect(0 < got <= sent, f"port {n}: {got} of {sent} came")
    for what in ("Background", "Foreground"):
        expect(int(run.has(rf"\[{what} traffic\] Samples: (\d+)")[1]) > 0,
               f"no latencies of {what.lower()} traffic")


@test
def quality_of_service_rates(run):
    """Four times as many to port 43 as to 42, from 256 addresses."""
    run.script(QUALITY_OF_SERVICE, 0, 1, "-f", 10, "-b", 40, interrupt=5,
               ports=["pcap:tx=0.pcap", "null"],
               until=run.has_sent(400000, "0.pcap", 124))
    times, sources = {42: [], 43: []}, set()
    for time, packet in run.records("0.pcap"):
        if len(packet) == 124 and packet[23] == 17:
            port = int.from_bytes(packet[36:38], "big")
            times[port].append(time)
            sources.add(packet[26:30])
    low, high = (rate(times[port], asked / 8 / 128) for port, asked in ((42, 1e7), (43, 4e7)))
    expect(abs(high / low - 4) < 0.08, f"{low} to {high} packets a second")
    expect(sources == {bytes((192, 168, i >> 8, i & 255)) for i in range(1, 257)},
           f"{len(sources)} source addresses")


@test
def rx_pkts_distribution(run):
    sent = run.traffic()
    run.script("moongen/examples/rx-pkts-distribution.lua", 0, 2, interrupt=4,
               ports=["pcap:rx=in.pcap"])
    run.has(rf"total {len(sent)} packets")


@test
def inter_arrival_times(run):
    run.traffic()
    run.script("moongen/examples/inter-arrival-times.lua", 0, 0, interrupt=2,
               ports=["pcap:rx=in.pcap"])


@test
def dump(run):
    run.traffic(50)
    run.script("moongen/examples/dump.lua", 0, interrupt=1, ports=["pcap:rx=in.pcap"])
    expect(len(re.findall(r"^UDP ", run.said, re.MULTILINE)) == 50, "dumps")


@test
def device_statistics(run):
    run.script("moongen/examples/device-statistics.lua", 0, 1, "-r", 10, ports=RING,
               interrupt=3)
    run.has("UdpGenericFilter is not supported")
    run.has(r"rx_good_packets\W* *: \d+ULL")


@test
def rss(run):
    run.script("moongen/examples/rss.lua", 0, 1, 2, ports=RING, interrupt=2)
    sent = int(run.has(r"\[Device: id=0\] TX: .* total (\d+) packets")[1])
    got = [int(run.has(rf"qid={q}\] RX: .* total (\d+) packets")[1]) for q in (1, 2)]
    expect(min(got) > 0 and sum(got) >= sent * 0.99, f"{sent} sent, {got} received")


@test
def ipfix(run):
    run.script("moongen/examples/ipfix-generation.lua", 0, 1, interrupt=5,
               ports=["pcap:tx=0.pcap", "null"])
    expect(len(run.packets("0.pcap")) > 0, "nothing was sent")


@test
def moonsniff(run):
    """The files of the sniffer's own test, and what is found in them."""
    run.script("moongen/examples/moonsniff/sniffer.lua", 0, 1, "-d", ports=RING)
    run.script("moongen/examples/moonsniff/post-processing.lua", "-i",
               "latencies-pre.mscap", "-s", "latencies-post.mscap")
    run.has(r"# pkts post 3$")
    run.has(r"Mean: 1000000(\.0*)? \[ns\]")


@test
def moonsniff_pcap(run):
    """Captures of a card that puts its time behind each packet: 40 us from one place to
    the other, and a packet that didn't come to the second."""
    for name, later in (("a-pre.pcap", 0), ("a-post.pcap", 40_000)):
        packets = [bytes(Ether() / IP() / UDP() / struct.pack("<IB19x", i, 0x55))
                   + struct.pack("<II", 1000 * i + later, 5) for i in range(100)]
        capture.save(run.folder / name, packets[:99] if later else packets)
    run.script("moongen/examples/moonsniff/post-processing.lua", "-i", "a-pre.pcap", "-s",
               "a-post.pcap")
    run.scripts.add("moongen/examples/moonsniff/tbbmatch.lua")
    run.has(r"Mean: 40000(\.0*)? \[ns\], Variance: 0(\.0*)? ")
    run.has(r"Misses: 0$")


@test
def moonsniff_test_dev(run):
    sent = run.traffic()
    run.script("moongen/examples/moonsniff/test-dev.lua", 0, 1, interrupt=1,
               until=run.holds(sent, "0.pcap", "1.pcap"),
               ports=["pcap:rx=in.pcap,tx=0.pcap", "pcap:rx=in.pcap,tx=1.pcap"])
    expect(run.packets("0.pcap") == sent == run.packets("1.pcap"), "packets")


@test
def drift(run):
    run.script("moongen/examples/timestamping-tests/drift.lua", 0, 1, ports=RING,
               interrupt=3)
    run.has(r"^-?[\d.]+(e[-+]\d+)?$")


@test
def timestamps_software(run):
    run.script("moongen/examples/timestamping-tests/timestamps-software.lua", 0, 1, 0,
               ports=RING, interrupt=5)
    values = [float(v) for v in (run.folder / "pings.txt").read_text().split()]
    expect(values and all(v > 0 for v in values), "pings.txt")


@test
def moonsniff_traffic(run):
    run.script("moongen/examples/moonsniff/traffic-gen.lua", 0, 1, "-t", 2, "-r", 10,
               ports=RING)


@test
def moongen_simple(run):
    (run.folder / "flows").symlink_to(run.moongen / "flows")
    run.script("moongen/interface/init.lua", "start",
               "load-latency:0:1:rate=1mp/s", ports=RING, trees=[run.moongen],
               interrupt=3) # with timeLimit its end is a matter of luck: doc/moongen.md
    run.has(r"\[Flow: dev=0 uid=0x1\] TX: .* total [1-9]\d* packets")
