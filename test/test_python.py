# SPDX-License-Identifier: Apache-2.0
"""The package of contrib/python: built as a wheel, installed in a new environment, and
used there as its README says."""

import os
import re
import struct
import sys

import pytest

from helpers.capture import random_frames, save
from helpers.command import PERIGEE, ROOT, run
from helpers.python_package import PACKAGE, execute


def test_its_readme_does_what_it_says(environment):
    [source] = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(), re.S)
    result = execute(environment, source)
    assert result.returncode == 0, result.stderr
    first, *_ = result.stdout.splitlines()
    assert re.fullmatch(r"[\d.]+ 0 [\d.]+", first), result.stdout
    # A packet is traced on its way out or on its way in, as it comes.
    traced = re.findall(r"^\d+ \[.*\] (sent|freed)$", result.stdout, re.M)
    assert len(traced) == 2 and result.stdout.count("fwd1") >= 3, result.stdout


def test_reports_captures_and_refusals(environment):
    source = '''
import perigee
report = perigee.generate(port="ring:a", receive="ring:a", both=True, count=100,
                          stream=["eth,ip4,udp;name=a", "eth,ip6,udp;name=b"])
assert [d.sent.packets for d in report.directions] == [200, 200]
assert [s.name for s in report.streams] == ["a", "b"]
assert report.received.lost == 0 and report.streams[1].received.latency.max > 0
for words, sentence in [({"port": "nul"}, "'nul' isn't a port"),
                        ({"port": "null", "sizes": 7}, "unknown option '--sizes'")]:
    try:
        perigee.generate(count=1, **words)
    except perigee.PerigeeError as error:
        assert sentence in str(error), error
    else:
        raise AssertionError(words)
with perigee.Program("echo", "null:size=80", 2) as program:
    instance = program.instance()
    assert instance in perigee.instances()
    before, now = instance.counters(), instance.counters()
    assert now.ports == {"port": "null:size=80"} and now.drops == {} and now.cpus == {}
    assert now.engine["packets"] > 0 and now.pps(since=before) >= 0
    assert set(now.links) == set(instance.info()["links"])
    assert now.apps["port"].counters["rxpackets"] > 0
    assert instance.objects()["engine/breaths"] > 0
    packets = list(instance.capture(app="fwd1", filter="greater 80", limit=5))
    assert [p.length for p in packets] == [80] * 5 and len(packets[0].data) == 80
    try:
        list(instance.trace(app="fwd9"))
    except perigee.PerigeeError as error:
        assert "there is no app 'fwd9'" in str(error), error
    assert "packets" in program.stop()
assert not program.running()
with perigee.Program("echo", "null") as program:
    program.instance()
assert program.pid not in [i.pid for i in perigee.instances()]
'''
    result = execute(environment, source)
    assert result.returncode == 0, result.stderr


def test_streams_are_added_changed_and_removed(environment):
    source = '''
import perigee
from perigee import Stream

with perigee.Generator(port="ring:a", receive="ring:a", interactive=True) as run:
    assert run.streams() == []
    dns = Stream("dns", "eth,ip4,udp", {"ip4Src": "10.0.0.1..10.0.0.9", "udpDst": 53},
                 size="80..90", payload=b"\\xca\\xfe", count=100, seed=3, latency=True, held=True)
    assert run.add(dns) == "dns" and run.add("eth,ip6,tcp;rate=1kpps") == "1"
    [told, other] = run.streams()
    assert told.fields == {"ip4Src": "10.0.0.1..10.0.0.9", "udpDst": "53"} and told.held
    assert (told.payload, told.count, told.latency) == (dns.payload, 100, True), told
    assert other == Stream("1", "eth,ip6,tcp", rate="1000pps"), other
    run.go("dns")
    run.wait_for(lambda s: s["streams"][0]["sent"]["packets"] == 100)
    run.change("dns", count=150, fields={"udpDst": 54}, payload="hex:", size=None)
    run.wait_for(lambda s: s["streams"][0]["sent"]["packets"] == 150)
    assert run.streams()[0].payload == b"hex:" and run.streams()[0].size is None
    run.change("dns", fields=None)
    assert run.streams()[0].fields == {}
    for act, sentence in [(lambda: run.add(dns), "stream dns: there is one already"),
                          (lambda: run.add(Stream("x", size=20)), "stream x: a packet of 20"),
                          (lambda: run.change("1", siz=20), "stream 1 has no 'siz'")]:
        try:
            act()
        except perigee.PerigeeError as error:
            assert sentence in str(error), error
        else:
            raise AssertionError(sentence)
    run.remove("1")
    assert run.streams()[1].removed
    report = run.finish()
[first, second] = report.streams
assert first.received.packets == 150 and first.received.latency_count == 150
assert second.removed and not first.removed and report.received.lost == 0
'''
    result = execute(environment, source)
    assert result.returncode == 0, result.stderr


def block(kind, body):
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


SECTION = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
INTERFACE = block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HH4s", 2, 4, b"eth0")
                  + struct.pack("<HHBxxx", 9, 1, 9))
PACKET = struct.pack("<5I", 0, 0, 2_000_000_000, 5, 60) + b"hello\0\0\0"


@pytest.mark.parametrize("data, expected", [
    (SECTION + INTERFACE + block(6, PACKET), "2.0 eth0 60 b'hello'"),
    (SECTION + block(6, PACKET), "no such interface"),
    (SECTION + INTERFACE + block(6, PACKET)[:-8], "ends within a block"),
    (SECTION + INTERFACE + block(6, PACKET[:12]), "too short"),
    (SECTION + INTERFACE + block(6, PACKET[:12] + b"\xff" * 12), "too few bytes"),
    (struct.pack("<II", 6, 0xFFFFFFFF), "has 4294967295 bytes")])
def test_bytes_of_a_capture_are_not_trusted(environment, data, expected):
    source = '''
import io, sys
from perigee import PerigeeError, pcapng
try:
    for p in pcapng.packets(io.BytesIO(bytes.fromhex(sys.argv[1]))):
        print(p.time, p.interface, p.length, p.data)
except PerigeeError as error:
    print(error)
'''
    result = execute(environment, source, data.hex())
    assert expected in result.stdout, result.stdout + result.stderr


def test_the_curve_is_drawn(environment, tmp_path):
    """The example needs matplotlib, which the system has and the environment hasn't."""
    image = tmp_path / "curve.png"
    packages = next(environment.parent.parent.glob("lib/python*/site-packages"))
    result = run(sys.executable, ROOT / "examples/python/throughput_latency.py", "ring:a",
                 "ring:a", image, 0.2, env={**os.environ, "PERIGEE": str(PERIGEE),
                                            "PYTHONPATH": str(packages),
                                            "MPLCONFIGDIR": str(tmp_path)})
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("median") == 6 and image.read_bytes()[1:4] == b"PNG"


def test_other_programs_that_measure(environment, tmp_path):
    file = save(tmp_path / "in.pcap", random_frames(200), gap_us=100000, began=1700000000)
    source = '''
import sys
import perigee

report = perigee.replay(sys.argv[1], "null", topspeed=True, count=150)
assert (report.packets, report.drops, report.sides) == (150, {}, [])
with perigee.Replay(sys.argv[1], "null", "null", loop=0) as run:
    run.set_rate("20kpps")
    run.wait_for(lambda s: s["packets"] > 1000)
    run.hold()
    assert run.statistics()["held"]
    run.go()
    run.set_speed(1000)
    report = run.finish()
assert sum(side.packets for side in report.sides) == report.packets > 1000
try:
    with perigee.Replay(sys.argv[1], "null", count=1) as run:
        run.instance()
        run.wait_for(lambda s: s["packets"] > 10)
except perigee.PerigeeError as error:
    assert "ended" in str(error), error
else:
    raise AssertionError

report = perigee.connect("both", clients="10.0.0.0/24", servers="10.1.0.1", count=100)
assert report.client.counts["closed"] == 100 and report.client.balanced
assert report.server.counts["started"] == 100 and report.client.connect.median > 0
with perigee.Connect("both", clients="10.0.0.0/24", servers="10.1.0.1", rate=10) as run:
    run.set_rate("2k")
    run.wait_for(lambda s: s["client"]["counts"]["started"] > 200)
    assert run.finish().client.counts["started"] > 200
with perigee.Connect("both", clients="10.0.0.0/24", servers="10.1.0.1", concurrent=10,
                     life="1h", drain=0) as run:
    run.wait_for(lambda s: s["client"]["counts"]["open"] == 10)
    run.set_concurrent("50")
    run.wait_for(lambda s: s["client"]["counts"]["open"] == 50)
    run.set_concurrent(20) # those that are open stay
    for wrong in 0, "1.5", "2G", "many":
        try:
            run.set_concurrent(wrong)
        except perigee.PerigeeError as error:
            assert f"here up to 1048586 (more where --concurrent was more), not '{wrong}'" \
                in str(error), error
        else:
            raise AssertionError(wrong)
    report = run.finish()
    assert report.client.counts["started"] == report.client.counts["aborted"] == 50

words = "A", "B", "ring:x", "B", "A", "ring:x"
options = {"sizes": 60, "bitrate": "2M", "duration": "50ms", "warm_up": 0}
[limit] = perigee.find_limit(*words, precision="1M", **options)
assert limit.size == 60 and limit.trials and (limit.limit or limit.reason)
with perigee.LoadTest("find-limit", *words, exec="false", retry_count=1000, **options) as run:
    run.wait_for(lambda s: s["trials"] > 1)
    [result] = run.finish()["results"]
assert "SIGINT" in result["stopped"] and len(result["trials"]) > 1
'''
    result = execute(environment, source, file)
    assert result.returncode == 0, result.stderr
