# SPDX-License-Identifier: Apache-2.0
"""Whatever looks into running processes, on graphs of each kind: what it says of packets
is what their counters say."""

import collections
import json
import os
import re
import socket
import subprocess
import time

import pytest

from helpers.capture import packets_of
from helpers.command import PERIGEE, check, perigee, running, tool, wait_until
from helpers.control import Client, path_of
from helpers.lwaftr import INTERNET, LWAFTR4, LWAFTR6, MTU, SUBSCRIBER, WHOLE, Net, lwaftr
from helpers.looked_into import KINDS, Between, command

PACKETS = 48
DROPPED = PACKETS // 3
SENT = PACKETS - DROPPED
HEADER = bytes.fromhex("020000000002" "020000000001")


UDP = HEADER + bytes.fromhex("0800" "4500001c000000004011" "66cf" "0a0000010a000002"
                             "0007000900080000")
CUT = """
local Fwd, basic = require("apps.fwd.fwd").Fwd, require("apps.basic.basic_apps")
local c = config.new()
for name, class in pairs{from = basic.Source, a = Fwd, t = basic.Tee, b = Fwd,
                         z = basic.Sink} do config.app(c, name, class) end
for _, link in ipairs{"from.output -> a.input", "a.output -> t.input",
                      "t.output -> b.input", "b.output -> z.input"} do
  config.link(c, link)
end
engine.configure(c)
engine.main{duration = 1}
"""


def frame(number):
    """A frame: byte 13 says whether it is dropped, byte 14 which it is."""
    return HEADER + bytes([0x10, number % 3, number]) + bytes(45)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def between(namespace):
    namespaces = Between(namespace)
    return namespaces


def counters(process):
    return json.loads(check(PERIGEE, "shm", "--json", process.pid))


def settled(process):
    """The same once they don't grow: an engine that sleeps publishes them 5 times a second."""
    def passed():
        return {k: v for k, v in counters(process).items() if k.endswith("txpackets")}

    def quiet():
        before = passed()
        time.sleep(0.5)
        return before == passed()
    wait_until(quiet, "counters that don't grow")
    return counters(process)


def grown(before, after, pattern):
    """By how much counters of that name have grown, those that have."""
    found = {}
    for key, value in after.items():
        match = re.fullmatch(pattern, key)
        if match and value > before.get(key, 0):
            found[": ".join(match.groups())] = value - before.get(key, 0)
    return found


def links_and_drops(before, after):
    return (grown(before, after, r"links/(.*)/txpackets"),
            grown(before, after, r"apps/(.*)/drop_(.*)"))


def watching(*words):
    return subprocess.Popen([PERIGEE, *words], stdout=subprocess.PIPE, text=True)


def send_all(wires):
    """Send all packets, each once the one before has come out; """
    source, sink = wires
    for number in range(PACKETS):
        source.send(frame(number))
        if number % 3 != 2:
            assert sink.receive(timeout=60), f"packet {number} is lost"


def counted(process, before):
    """The counters, once they tell of all packets: they may be some milliseconds old."""
    def all_there():
        links, drops = links_and_drops(before, counters(process))
        ends = sum(n for name, n in links.items() if "out.input" in name
                   or "-> port@packet_out" in name) + sum(drops.values())
        first = max(links.values(), default=0)
        return first >= PACKETS and ends >= first
    wait_until(all_there, "counters of all packets")
    return links_and_drops(before, settled(process))  # copies may come later


def traced(process, wires, ways):
    """So many ways of packets, and what the counters say of these."""
    before, client = counters(process), Client(path_of(process.pid))
    answer = client.ask(do="trace", count=ways, rate=1000)
    assert answer == {"answer": {"count": ways}}
    send_all(wires)
    records = []
    while "end" not in (line := client.line()):
        records.append(line["packet"])
    client.close()
    return records, *counted(process, before)


def test_traces_say_what_counters_say(between, kind, tmp_path):
    with between.wires() as wires, between.graph(kind, tmp_path) as process:
        # Each CPU tells of its own part of a way.
        ways = PACKETS + (SENT if kind == "cpus" else 0)
        records, links, drops = traced(process, wires, ways)
    hops = collections.Counter(hop["link"] for r in records for hop in r["hops"])
    ends = collections.Counter(r["end"]["what"] for r in records)
    told = collections.Counter(
        f"{r['end']['app']}: {r['end']['reason'].replace(' ', '_')}" for r in records
        if r["end"]["what"] == "dropped")
    if kind == "click":
        # Of what a Tee sends the original is followed, the copies aren't.
        assert ends == {"dropped": PACKETS}
        copied = set(links) - set(hops)
        assert {re.split(r"[.@]", spec)[0] for spec in copied} == {
            "copies", "Strip", "Unstrip", "Unqueue", "ToDPDKDevice"}
        assert all(links.pop(spec) == SENT for spec in copied)
    elif kind == "cpus":
        assert ends == {"handed on": SENT, "sent": SENT, "dropped": DROPPED}
    else:
        assert ends == {"sent": SENT, "dropped": DROPPED}
    assert told == drops
    if kind == "cpus":  # the link between the CPUs is in both parts
        hops["middle.output -> last.input"] -= SENT
    assert hops == links


def captured(process, request, wires, count):
    """The frames that a capture has of all packets."""
    client = Client(path_of(process.pid))
    assert "answer" in client.ask(do="capture", limit=count, **request)
    send_all(wires)
    blocks = client.lines.read()
    client.close()
    return [data for data, _ in packets_of(blocks)]


def test_captures_have_what_counters_count(between, kind, tmp_path):
    last = "copies.1 -> Counter" if kind == "click" else "last.output -> out.input"
    with between.wires() as wires, between.graph(kind, tmp_path) as process:
        links = [link for link in counters(process)
                 if link.startswith(f"links/{last}") and link.endswith("/txpackets")]
        [spec] = [link.split("/")[1] for link in links]
        frames = captured(process, {"link": spec}, wires, SENT)
        assert [f[14] for f in frames] == [n for n in range(PACKETS) if n % 3 != 2]
        if kind != "click":
            dropped = captured(process, {"dropped": True}, wires, DROPPED)
            assert [f[14] for f in dropped] == list(range(2, PACKETS, 3))


def test_top_and_metrics_count_the_same(between, kind, tmp_path):
    with between.wires() as wires, between.graph(kind, tmp_path) as process:
        before = counters(process)
        send_all(wires)
        links, drops = counted(process, before)
        [top] = json.loads(perigee("top", "--json", "-i", "100ms", process.pid).stdout)
        said = check(PERIGEE, "metrics", process.pid)
    told = {link["name"]: link["packets"] for link in top["links"] if link["packets"]}
    assert told == links
    found = re.findall(r'perigee_link_packets_total{[^}]*link="([^"]*)"} (\d+)', said)
    assert {name: int(n) for name, n in found if n != "0"} == links
    found = re.findall(r'perigee_app_drops_total{([^}]*)} (\d+)', said)
    assert sum(int(n) for _, n in found) == sum(drops.values())


def test_all_packets_are_in_the_graph_that_is_told(between, kind, tmp_path):
    with between.graph(kind, tmp_path) as process:
        client = Client(path_of(process.pid))
        graph = client.ask(do="graph")["answer"]
        client.close()
        links = grown({}, {key: 1 for key in counters(process)}, r"links/(.*)/txpackets")
    assert {link["link"] for link in graph["links"]} == set(links)
    names = {app["name"] for app in graph["apps"]}
    assert all({link["from"], link["to"]} <= names for link in graph["links"])
    alone = [app["name"] for app in graph["apps"]
             if not (app.get("region") or app.get("why") or app.get("port"))]
    assert alone == [], "apps of which nothing is told"


@pytest.mark.parametrize("program", [["plan"], ["plan", "--json"], ["plan", "--dot"]])
def test_plan_names_all_apps(between, kind, tmp_path, program):
    words = command(kind, tmp_path)
    result = between.router.run(words[0], *program, *words[1:])
    assert (result.returncode, result.stderr) == (0, "")
    for name in ("third", "copies" if kind == "click" else "last"):
        assert name in result.stdout


def test_check_finds_nothing_wrong(between, kind, tmp_path):
    if kind == "cpus":
        pytest.skip("--check runs on one CPU")
    with between.wires() as wires, between.graph(kind, tmp_path, "--check") as process:
        send_all(wires)
        assert process.interrupt() == 0
        assert "wrong" not in process.said


def test_a_trace_knows_where_headers_are_taken_off(between, tmp_path):
    with between.wires() as (source, sink), between.graph("click", tmp_path) as process:
        strip = next(key for key in counters(process) if key.startswith("links/copies.0"))
        app = re.search(r"-> (.*)\.", strip.split("/")[1]).group(1)
        trace = watching("trace", "-n", "1", "--app", app, str(process.pid))
        while trace.poll() is None:
            source.send(UDP)
            sink.receive(timeout=0.2)
        said = trace.communicate()[0]
    assert re.search(r"""packet 1: 42 bytes, IP 10.0.0.1.7 > 10.0.0.2.9: UDP, length 0
  from copies
  Strip@\d+
    eth taken off
    length 42 -> 28
  Unstrip@\d+
    eth put in front
    length 28 -> 42
  queue
  Unqueue@\d+
  ToDPDKDevice@\d+
  sent by port@packet_out
""", said), said


def test_a_capture_says_that_packets_begin_with_ip(between, tmp_path):
    path = tmp_path / "ip.pcapng"
    with between.wires() as (source, sink), between.graph("click", tmp_path) as process:
        [strip] = [key.split("/")[1] for key in counters(process)
                   if re.match(r"links/Strip.*-> Unstrip.*/txpackets", key)]
        with running(PERIGEE, "capture", "-c", "1", f"@{process.pid}:{strip}",
                     path) as capture:
            while capture.process.poll() is None:
                source.send(UDP)
                sink.receive(timeout=0.2)
    said = check(tool("tcpdump"), "-nr", path)
    assert "IP 10.0.0.1.7 > 10.0.0.2.9: UDP, length 0" in said


def test_no_fuse_tells_what_each_app_costs(between, tmp_path):
    with between.wires() as wires, \
            between.graph("fused", tmp_path, "--no-fuse") as process:
        def measured():  # some breaths are, now and then
            send_all(wires)
            return {"third", "middle", "last"} <= set(
                grown({}, counters(process), r"engine/cycles/tasks/(.*)"))
        wait_until(measured, "cycles of each app")


def test_plan_shows_each_cpu_of_a_graph_that_is_cut(between, tmp_path):
    file = tmp_path / "cut.lua"
    file.write_text(CUT)
    said = check(PERIGEE, "plan", "--no-source", "--cpus", "0,1", "run", file)
    assert re.search(r"^on CPU 0: a, .*\n  region 1:", said, re.M)
    assert re.search(r"^on CPU 1: b, .*\n  region 1:", said, re.M)


WAYS, NOBODY = 8, "192.0.2.77"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")


def udp_socket(namespace, address):
    with namespace.entered():
        opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    opened.bind((address, 7777))
    opened.settimeout(60)
    return opened


@needs_root
def test_the_ways_through_an_lwaftr_are_what_counters_say(tmp_path):
    """Its packets are handled many at a time."""
    conf, name = tmp_path / "a.conf", f"looked-into-{os.getpid()}"
    conf.write_text(WHOLE.replace(f"mtu {MTU};", f"mtu {MTU}; generate-icmp-errors false;"))
    net = Net()
    try:
        net.internet.ip("route", "add", f"{NOBODY}/32", "via", LWAFTR4)
        with net.tunnel(), lwaftr(net, conf, name=name) as process, \
                udp_socket(net.internet, INTERNET) as server, \
                udp_socket(net.b4, SUBSCRIBER) as subscriber:
            def there_and_back(text):
                subscriber.sendto(text, (INTERNET, 7777))
                assert server.recvfrom(100) == (text, (SUBSCRIBER, 7777))
                server.sendto(text, (SUBSCRIBER, 7777))
                assert subscriber.recvfrom(100) == (text, (INTERNET, 7777))
            there_and_back(b"neighbours are known from now on")
            # and stay so: no probe of a kernel's comes among the packets.
            for kernel, address, mac in ((net.internet, LWAFTR4, "02:00:00:00:00:04"),
                                         (net.b4, LWAFTR6, "02:00:00:00:00:06")):
                kernel.ip("neigh", "replace", address, "lladdr", mac, "dev", "eth0",
                          "nud", "permanent")
            before, client = settled(process), Client(path_of(process.pid))
            client.ask(do="trace", count=3 * WAYS, rate=1000,
                       filter="(udp and port 7777) or ip6 proto 4")
            for i in range(WAYS):
                there_and_back(b"packet %d" % i)
            for _ in range(WAYS):
                server.sendto(b"x", (NOBODY, 7777))
            records = []
            while "end" not in (line := client.line()):
                records.append(line["packet"])
            client.close()

            def counted_all():
                after = settled(process)
                links = grown(before, after, r"links/(.*)/txpackets")
                drops = grown(before, after, r"apps/(.*)/drop-(.*)")
                return max(links.values(), default=0) >= 2 * WAYS and (links, drops)
            links, drops = wait_until(counted_all, "counters")
    finally:
        net.remove()
    hops = collections.Counter(hop["link"] for r in records for hop in r["hops"])
    assert hops == links
    ends = collections.Counter((r["end"]["what"], r["end"]["app"]) for r in records)
    assert ends == {("sent", "inetNic@v6_0"): WAYS, ("sent", "b4sideNic@v6_0"): WAYS,
                    ("freed", "lwaftr@v6_0"): WAYS}
    assert drops["lwaftr@v6_0: no-dest-softwire-ipv4-packets"] == WAYS
