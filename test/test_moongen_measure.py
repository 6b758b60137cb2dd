# SPDX-License-Identifier: Apache-2.0
"""Rates, counters, histograms and time stamps of libmoon's scripts (examples/moongen).
Times depend on how busy the machine is, so bounds are loose; the schedules themselves are
tested in moongen/moongen/pacing."""

import json
import re
import statistics
import struct
import urllib.request

import pytest
from scapy.all import IP, UDP, Ether, PcapReader, wrpcap

from helpers.command import PERIGEE, ROOT, TIMEOUT_S, perigee, running, wait_until

SCRIPTS = ROOT / "examples" / "moongen"
CRC = 4
FILE_HEADER = 24
CATCH_UP_S = 0.1  # so late a sender may be, and still keep the time of what follows
FINAL = re.compile(
    r"\[Device: id=0\] TX: [\d.]+ \(StdDev [\d.]+\) Mpps, \d+ \(StdDev \d+\) Mbit/s "
    r"\(\d+ Mbit/s with framing\), total (\d+) packets with (\d+) bytes \(incl. CRC\)\n")
UPDATE = re.compile(
    r"\[Device: id=0\] TX: [\d.]+ Mpps, \d+ Mbit/s \(\d+ Mbit/s with framing\)\n")


def moongen(script, *args, devices=("pcap:tx=0.pcap",), **kwargs):
    """Run one of the scripts to its end, with these devices."""
    ports = [word for i, port in enumerate(devices) for word in ("--port", f"{i}={port}")]
    return perigee("moongen", *ports, SCRIPTS / script, *args, **kwargs)


def packets(path):
    with PcapReader(str(path)) as reader:
        return list(reader)


def gaps(path):
    """Between the packets of a file with nanoseconds, in seconds."""
    data, offset, times = path.read_bytes(), 24, []
    while offset < len(data):
        seconds, nanoseconds, length = struct.unpack_from("=III", data, offset)
        times.append(seconds + nanoseconds / 1e9)
        offset += 16 + length
    return [b - a for a, b in zip(times, times[1:])]


def test_totals(tmp_path):
    """A counter's last line tells what is in the file; all lines are libmoon's."""
    result = moongen("rate.lua", 0, "-n", 1000, "-t", 60, "-s", 124, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    total, octets = map(int, FINAL.search(result.stdout).groups())
    sent = packets(tmp_path / "0.pcap")
    assert (total, octets) == (len(sent), sum(len(p) + CRC for p in sent)) == (1000, 128000)
    for p in sent[:5]:
        right = Ether(bytes(p))
        del right[UDP].chksum
        assert Ether(bytes(right))[UDP].chksum == p[UDP].chksum
    lines = [line for line in result.stdout.splitlines(True) if line.startswith("[Device:")]
    assert all(FINAL.fullmatch(line) or UPDATE.fullmatch(line) for line in lines)
    assert "\033" not in result.stdout


def test_csv(tmp_path):
    result = moongen("rate.lua", 0, "-n", 300, "-t", 60, "-o", "stats.csv", "-f", "csv",
                     cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    header, *lines = (tmp_path / "stats.csv").read_text().splitlines()
    assert header == ("Time,Device,Direction,PacketRate,Mbit,MbitWithFraming,TotalPackets,"
                      "TotalBytes")
    assert lines[-1].split(",")[1:3] == ["Device: id=0", "TX"]
    assert lines[-1].split(",")[6:] == ["300", str(300 * 64)]


@pytest.mark.parametrize("format, pattern", [
    ("ini", r"Device: id=0TotalSent,packets=100,bytes=6400,rate="), ("nil", "^$")])
def test_other_formats(tmp_path, format, pattern):
    result = moongen("rate.lua", 0, "-n", 100, "-t", 60, "-o", "s", "-f", format,
                     cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert re.search(pattern, (tmp_path / "s").read_text())


@pytest.mark.parametrize("script, args, devices", [
    ("rate.lua", (0, "-n", 100, "-t", 60, "-f", "csv"), ["null"]),
    ("latency.lua", (0, 1, "-n", 5), ["ring:a", "ring:a"])])
def test_files_on_a_full_disk(tmp_path, script, args, devices):
    result = moongen(script, *args, "-o", "/dev/full", devices=devices, cwd=tmp_path)
    assert result.returncode == 1
    [line] = result.stderr.splitlines()
    assert re.search(r"can't (write|save) /dev/full: No space left on device$", line)


def test_a_format_that_is_not_there(tmp_path):
    result = moongen("rate.lua", 0, "-f", "xml", "-t", 1, cwd=tmp_path)
    assert "Unsupported output format xml; there are CSV, csv, ini, nil, plain" in \
        result.stdout + result.stderr


def test_rate_in_mbits(tmp_path):
    """5 Mbit/s of 60 bytes and their CRC: 9,765 packets a second, and never more."""
    result = moongen("rate.lua", 0, "-r", 5, "-n", 10000, "-t", 600, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    between = gaps(tmp_path / "0.pcap")
    rate = len(between) / sum(between)
    assert rate / (5e6 / 64 / 8) < 1.15
    told = re.search(r"qid=0\]: ([\d.]+) Mbit/s of 5 Mbit/s reached \(([-+][\d.]+) %\), "
                     "paced in software", result.stdout)
    assert float(told[1]) > 0.98 * rate * 64 * 8 / 1e6 # pauses of a busy machine aside
    assert float(told[2]) == pytest.approx(100 * (float(told[1]) / 5 - 1), abs=0.1)


def test_all_ways_to_send_keep_a_rate():
    """Of a queue, and of a device with two: no packet goes before its time. (How long it
    takes beyond that is the machine's.)"""
    mbit, packets = 2, 320
    result = perigee("moongen", "--port", "0=null", ROOT / "test/moongen/paced.lua", mbit,
                     packets)
    assert (result.returncode, result.stderr) == (0, "")
    took = {way: float(seconds) for way, seconds in
            re.findall(r"^took\t([\w ]+)\t(\S+)$", result.stdout, re.M)}
    assert len(took) == 12
    least = (packets - 1) * (60 + CRC) * 8 / (mbit * 1e6)
    assert {way: s for way, s in took.items() if s < 0.999 * least} == {}


def test_even_gaps(tmp_path):
    result = moongen("rate.lua", 0, "-m", 0.0002, "-n", 300, "-t", 600, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    between = gaps(tmp_path / "0.pcap")
    assert sum(between) > 0.9 * 299 * 5e-3  # the first may be late, the last not early
    assert statistics.median(between) == pytest.approx(5e-3, rel=0.5)


def test_random_gaps(tmp_path):
    """Short and long ones; a busy machine makes more of them, and no rate higher."""
    result = moongen("rate.lua", 0, "-m", 0.001, "-p", "poisson", "-n", 3000,
                     "-t", 600, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    between = gaps(tmp_path / "0.pcap")
    assert len(between) / sum(between) < 1150
    assert sum(gap < 0.3e-3 for gap in between) > 0.15 * len(between)
    assert sum(gap > 1.5e-3 for gap in between) > 0.02 * len(between)


@pytest.mark.parametrize("how", [(), ("-l",)])
def test_delays_of_packets(tmp_path, how):
    """They are never shorter in all; on a busy machine it takes some tries until most
    are as long as is asked."""
    def as_asked():
        result = moongen("delays.lua", 0, "-n", 64, "-g", 4000, *how, cwd=tmp_path)
        assert (result.returncode, result.stderr) == (0, "")
        assert "with their own delays" in result.stdout
        between = gaps(tmp_path / "0.pcap")
        assert len(between) == 63
        assert sum(between) > 4e-3 * (2 + 3 + 4 + 1) * 63 / 4 - 1.1 * CATCH_UP_S
        medians = [statistics.median(between[i::4]) for i in range(4)]
        return medians == pytest.approx([4e-3 * n for n in (2, 3, 4, 1)], rel=0.25)

    wait_until(as_asked, "delays of 2, 3, 4 and 1 times 4 ms")


def test_a_rate_that_cannot_be_kept_is_told_once(tmp_path):
    result = moongen("rate.lua", 0, "-m", 10000, "-t", 6, devices=["null"], cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.count("10000 Mpps can't be kept") == 1
    assert re.search(r"[\d.]+ Mpps of 10000 Mpps reached \(-\d+", result.stdout)


@pytest.mark.parametrize("option, says", [
    (("--rate=-5",), "a rate in Mbit/s is a number from 0 on (0: no limit), not -5"),
    (("-m", "0.1", "-p", "bursts"), "Unsupported mode bursts; there are cbr, poisson")])
def test_rates_that_are_refused(tmp_path, option, says):
    result = moongen("rate.lua", 0, *option, "-t", 1, cwd=tmp_path)
    assert result.returncode != 0
    assert says in result.stdout + result.stderr


def test_a_slow_sender_ends_at_once(tmp_path):
    """It waits for 1000 s between packets, and for a signal."""
    command = [PERIGEE, "moongen", "--port", "0=pcap:tx=0.pcap", SCRIPTS / "rate.lua", "0",
               "-m", "0.000000001", "-t", "1000"]
    with running(*command, cwd=tmp_path) as process:
        process.wait_for("1 device is up")
        path = tmp_path / "0.pcap"
        wait_until(lambda: process.read() and path.exists()
                   and path.stat().st_size > FILE_HEADER, "the first packet")
        assert process.runs_for(0.2)
        assert process.interrupt() == 0
        assert FINAL.search(process.said)[1] == "1"
    assert len(packets(tmp_path / "0.pcap")) == 1


@pytest.mark.parametrize("how", [(), ("-e",)])
def test_latencies(tmp_path, how):
    """The histogram's file sums to what is printed; software's stamps are told once."""
    result = moongen("latency.lua", 0, 1, "-n", 50, *how, cwd=tmp_path,
                     devices=["ring:a", "ring:a"])
    assert (result.returncode, result.stderr) == (0, "")
    line = re.search(r"^Samples: (\d+), Average: ([\d.]+) ns, StdDev: [\d.]+ ns, "
                     r"Quartiles: ([\d.]+)/([\d.]+)/([\d.]+) ns$", result.stdout, re.M)
    assert line[1] == "50"
    rows = [tuple(map(float, row.split(",")))
            for row in (tmp_path / "histogram.csv").read_text().splitlines()]
    assert sum(n for _, n in rows) == 50
    assert rows == sorted(rows)
    assert float(line[2]) == pytest.approx(sum(k * n for k, n in rows) / 50, abs=0.1)
    assert 0 < rows[0][0] <= float(line[3]) <= float(line[4]) <= float(line[5])
    assert result.stdout.count("Timestamps are the CPU's") == 1


def test_stamps_of_all_packets(tmp_path):
    result = moongen("stamps.lua", 0, 1, cwd=tmp_path, devices=["ring:a", "ring:a"])
    assert (result.returncode, result.stderr) == (0, "")
    told = re.search(r"^200 packets, 0 times backwards, (\d+) before they were sent$",
                     result.stdout, re.M)
    assert int(told[1]) < 5 # counters of CPUs may differ
    assert "[Gaps] Samples: 199, " in result.stdout
    assert result.stdout.count("stamps no packets that aren't PTP's") == 1


def test_statistics_by_http(tmp_path):
    with running(PERIGEE, "moongen", "--port", "0=null", SCRIPTS / "served.lua", "0",
                 cwd=tmp_path) as process:
        process.wait_for("Starting REST API on port ")
        port = re.search(r"API on port (\d+)", process.said)[1]

        def ask(path):
            url = f"http://127.0.0.1:{port}{path}"
            with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
                return json.load(answer)

        def sent():
            """What is known of the counter of packets that were sent, once there are
            some."""
            assert process.read(), process.said
            for counter in ask("/counters/all"):
                if counter.get("direction") == "tx" and counter["data"][-1]["packets"] > 0:
                    return counter

        assert ask("/devices/num") == {"num": 1}
        assert ask("/devices/0")["linkSpeed"] == 10000
        assert wait_until(sent, "packets")["name"] == "Device: id=0"
        assert ask("/hello/you") == {"hello": "you"}
        for path, status in (("/counters/99", 400), ("/nothing", 404)):
            with pytest.raises(urllib.error.HTTPError) as refused:
                ask(path)
            assert refused.value.code == status
        assert process.interrupt() == 0


@pytest.mark.parametrize("queues", [1, 2])
def test_a_script_of_2015_measures_by_itself(queues):
    """With the names of then; and the end is one sentence, not LuaJIT's."""
    script = ROOT / "test" / "moongen" / "of_2015.lua"
    result = perigee("moongen", "--port", "0=ring:a", "--port", "1=ring:a", script, queues)
    assert "before\tnil\n" in result.stdout
    assert "in order\t5\t5\n" in result.stdout
    assert result.returncode == 1
    assert re.search(r"perigee: task 'master': \S+of_2015.lua:\d+: a field or argument of C "
                     "takes a number from 0 to 65535, not a string\n", result.stderr)


def test_names_of_2014_to_2016(tmp_path):
    """They do what those of later do."""
    frames = [Ether(dst="02:00:00:00:00:02") / IP() / UDP(dport=7) / bytes(n)
              for n in (20, 200, 1000)]
    wrpcap(str(tmp_path / "in.pcap"), frames)
    script = ROOT / "test" / "moongen" / "old_names.lua"
    result = perigee("moongen", "--port", "0=ring:a", "--port", "1=ring:a", script,
                     "in.pcap", "out.pcap", cwd=tmp_path)
    assert "limiter\tfunction\n" in result.stdout and "clocks\t0\n" in result.stdout
    assert "read\t3\ttrue\t62\t7\n" in result.stdout, result.stdout + result.stderr
    assert list(map(bytes, packets(tmp_path / "out.pcap"))) == list(map(bytes, frames))
    assert "mac\ttrue\n" in result.stdout and result.returncode == 0, result.stderr
    assert result.stdout.count("total 3 packets") == 3, result.stdout


@pytest.mark.parametrize("sent, noted", [(5000, 4096), (300, 300)])
def test_gaps_between_packets_as_moongen_of_2014_prints_them(tmp_path, sent, noted):
    wrpcap(str(tmp_path / "in.pcap"), [Ether() / bytes(46)] * sent)
    script = tmp_path / "gaps.lua"
    script.write_text("""local dpdk, device = require "dpdk", require "device"
local ts = require "timestamping"
function master()
  local dev = device.config(0, require("memory").createMemPool())
  dev:wait()
  dpdk.setRuntime(3)
  local times = ts.readTimestampsSoftware(dev:getRxQueue(0), 512)
  print(("first %d last %d"):format(times[0], times[4095]))
end
""")
    result = perigee("moongen", "--port", f"0=pcap:rx={tmp_path}/in.pcap,tx=/dev/null", script)
    lines = re.findall(r"^\d+$", result.stdout, re.MULTILINE)
    assert result.returncode == 0 and len(lines) == noted, result.stdout + result.stderr
    assert any(map(int, lines))  # they come by more than one burst
    assert f"first 0 last {lines[-1] if noted == 4096 else 0}\n" in result.stdout
