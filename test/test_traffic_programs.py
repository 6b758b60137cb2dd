# SPDX-License-Identifier: Apache-2.0
"""replay, capture and packetblaster, run as a user runs them."""

import os
import pathlib
import pty
import random
import re
import signal
import struct
import subprocess
import time

import pytest
from scapy.utils import RawPcapReader

from helpers.command import running

ROOT = pathlib.Path(__file__).resolve().parent.parent
PERIGEE = ROOT / "perigee"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts or makes interfaces")


def perigee(*args, **kwargs):
    return subprocess.run([PERIGEE, *map(str, args)], capture_output=True, text=True,
                          timeout=60, **kwargs)


def frames(n, longest=1514):
    rng = random.Random(n)
    return [rng.randbytes(rng.randint(14, longest)) for _ in range(n)]


def save(path, packets, gap_us=0):
    """A pcap file of the packets, `gap_us` microseconds apart."""
    with open(path, "wb") as file:
        file.write(struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for i, data in enumerate(packets):
            seconds, micro = divmod(i * gap_us, 10**6)
            file.write(struct.pack("=IIII", 1700000000 + seconds, micro,
                                   len(data), len(data)) + data)
    return path


def load(path):
    return [data for data, _ in RawPcapReader(str(path))]


def number(pattern, text):
    """The first number in the pattern's match, with its commas taken out."""
    return int(re.search(pattern, text)[1].replace(",", ""))


# replay ----------------------------------------------------------------------


@pytest.mark.parametrize("options, expected", [
    (["--topspeed"], 1),
    (["--topspeed", "--loop", "7"], 7),
    (["--rate", "1Mpps"], 1),
    (["--rate", "10Gbps", "--loop", "3"], 3),
    (["--speed", "10"], 1),
    ([], 1),
])
def test_replay_sends_every_packet_in_order(tmp_path, options, expected):
    packets = frames(500)
    file = save(tmp_path / "in.pcap", packets, gap_us=100)
    out = tmp_path / "out.pcap"
    result = perigee("replay", *options, file, f"pcap:tx={out}")
    assert result.returncode == 0, result.stderr
    assert load(out) == packets * expected
    total = expected * len(packets)
    assert number(r"replay: ([\d,]+) packets", result.stdout) == total
    assert number(r"packets, ([\d,]+) bytes", result.stdout) == \
        expected * sum(map(len, packets))
    assert "dropped: 0\n" in result.stdout


def test_replay_stops_at_its_limit(tmp_path):
    packets = frames(10)
    file, out = save(tmp_path / "in.pcap", packets), tmp_path / "out.pcap"
    result = perigee("replay", "--loop", "0", "--limit", "25", file, f"pcap:tx={out}")
    assert result.returncode == 0, result.stderr
    assert load(out) == packets * 2 + packets[:5]


def rates(text):
    """The requested and the achieved packet rate of a report, in packets a second."""
    factor = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}
    found = re.findall(r"([\d.]+) ([kMG]?)pps", text)
    return [float(value) * factor[prefix] for value, prefix in found]


@pytest.mark.parametrize("options", [["--rate", "20kpps"], ["--speed", "2"]])
def test_replay_is_not_faster_than_asked(tmp_path, options):
    file = save(tmp_path / "in.pcap", frames(10000), gap_us=100)
    result = perigee("replay", *options, file, "null")
    requested, achieved = rates(result.stdout)
    assert requested == 20000
    assert 0.3 * requested < achieved <= 1.01 * requested


def test_replay_sends_all_before_a_cut(tmp_path):
    packets = frames(200)
    file, out = save(tmp_path / "in.pcap", packets), tmp_path / "out.pcap"
    os.truncate(file, file.stat().st_size - 1)
    result = perigee("replay", "--topspeed", "--loop", "5", file, f"pcap:tx={out}")
    assert result.returncode == 1
    assert load(out) == packets[:-1]
    assert "replay: 199 packets" in result.stdout
    assert f"{file} ends in the middle of packet 200" in result.stderr
    assert "Traceback" not in result.stderr and "traceback" not in result.stderr


@pytest.mark.parametrize("content, sentence", [
    (None, "No such file or directory"),
    (b"", "is empty"),
    (b"not a savefile", "neither a pcap nor a pcapng file"),
    (struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 113), "link type 113"),
])
def test_replay_refuses_other_files(tmp_path, content, sentence):
    file = tmp_path / "in.pcap"
    if content is not None:
        file.write_bytes(content)
    result = perigee("replay", file, "null")
    assert result.returncode == 1
    assert re.fullmatch(rf"perigee: .*{sentence}.*\n", result.stderr)


@pytest.mark.parametrize("arguments, sentence", [
    (["--rate", "fast", "f", "null"], "'fast' isn't a rate such as 500kpps, 1.5Mpps"),
    (["--speed", "0", "f", "null"], "a number above 0"),
    (["--speed", "1", "--topspeed", "f", "null"], "--topspeed"),
    (["f"], "port"),
])
def test_replay_refuses_bad_arguments(arguments, sentence):
    result = perigee("replay", *arguments)
    assert result.returncode == 2
    assert re.fullmatch(rf"perigee: .*{re.escape(sentence)}.*\n", result.stderr)


def test_replay_counts_what_it_drops(tmp_path):
    packets = [bytes(60), bytes(10241), bytes(13), bytes(60)]
    file = save(tmp_path / "in.pcap", packets)
    result = perigee("replay", "--topspeed", file, f"pcap:tx={tmp_path / 'out.pcap'}")
    assert result.returncode == 0
    assert "1 longer than 10240 bytes" in result.stdout


@pytest.mark.parametrize("program", [
    ["replay", "--topspeed", "--loop", "2"],
    ["packetblaster", "replay", "-D", "0.2"],
])
def test_files_that_do_not_fit_into_memory_are_sent_all_the_same(tmp_path, program):
    packets = frames(20000)
    file, out = save(tmp_path / "in.pcap", packets), tmp_path / "out.pcap"
    result = perigee("--eal", "--no-huge -m 100", *program, file, f"pcap:tx={out}")
    assert re.search("in.pcap needs [0-9]+ MB to be kept in memory", result.stderr)
    if program[0] == "replay":
        assert result.returncode == 0
        assert load(out) == packets * 2
    else:
        assert result.returncode == 1
        assert "the packet pool is empty" in result.stderr


def test_packets_in_memory_leave_some_for_the_port(pair, tmp_path):
    """Those of AF_XDP have a pool of 31 MB."""
    here, _ = pair
    packets = [bytes(1514)] * 8000
    file = save(tmp_path / "in.pcap", packets)
    result = here.run(PERIGEE, "--eal", "--no-huge -m 150", "replay", "--topspeed",
                      "--loop", 2, file, "xdp:left")
    assert result.returncode == 0, result.stderr
    assert "in.pcap isn't kept in memory" in result.stderr
    assert number(r"([\d,]+) packets", result.stdout) == 16000


def test_replay_is_ended_by_a_signal(tmp_path):
    file = save(tmp_path / "in.pcap", frames(10))
    with running(PERIGEE, "replay", "--loop", "0", "--rate", "1kpps", file,
                 "null") as process:
        process.wait_for_engine()
        assert process.runs_for(0.3)
        assert process.interrupt(signal.SIGTERM) == 0
    assert number(r"replay: ([\d,]+) packets", process.said) > 0


def test_progress_on_a_terminal_is_one_line(tmp_path):
    file = save(tmp_path / "in.pcap", frames(10))
    terminal, side = pty.openpty()
    process = subprocess.Popen([PERIGEE, "replay", "--loop", "0", "--rate", "1kpps",
                                "--duration", "2.5", file, "null"], stdout=side)
    os.close(side)
    output = b""
    try:
        while chunk := os.read(terminal, 4096):
            output += chunk
    except OSError:  # the other side is closed
        pass
    os.close(terminal)
    assert process.wait(timeout=120) == 0
    live = output.split(b"replay: ")
    lines = [part for part in live if b"pps  " in part]
    assert len(lines) >= 2
    assert all(part.endswith(b"\r\x1b[K") and b"\n" not in part for part in lines)


# capture ---------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--ns"], ["--pcapng"], ["--pcapng", "--ns"]])
def test_capture_writes_what_arrives(tmp_path, options):
    packets = frames(300, longest=9000)
    file, out = save(tmp_path / "in.pcap", packets), tmp_path / "out.file"
    began = time.time()
    result = perigee("capture", "--limit", "300", *options, f"pcap:rx={file}", out)
    assert result.returncode == 0, result.stderr
    assert load(out) == packets
    assert "300 packets received, 300 written" in result.stdout
    magic = out.read_bytes()[:4]
    expected = {(): 0xA1B2C3D4, ("--ns",): 0xA1B23C4D}.get(tuple(options), 0x0A0D0D0A)
    assert magic == struct.pack("=I", expected)
    if not options:
        for _, meta in RawPcapReader(str(out)):
            assert began - 1 <= meta.sec <= time.time() + 1


def test_capture_cuts_at_its_limit_and_snap_length(tmp_path):
    packets = frames(50)
    file, out = save(tmp_path / "in.pcap", packets), tmp_path / "out.pcap"
    result = perigee("capture", "--limit", "20", "--snaplen", "100",
                     f"pcap:rx={file}", out)
    assert result.returncode == 0, result.stderr
    records = list(RawPcapReader(str(out)))
    assert [data for data, _ in records] == [p[:100] for p in packets[:20]]
    assert [meta.wirelen for _, meta in records] == [len(p) for p in packets[:20]]


def test_capture_leaves_out_what_its_filter_does_not_accept(tmp_path):
    packets = frames(400)
    right = [p for p in packets if len(p) >= 700]
    file, out = save(tmp_path / "in.pcap", packets), tmp_path / "out.pcap"
    result = perigee("capture", "--filter", "greater 700", "--limit", len(right),
                     f"pcap:rx={file}", out)
    assert result.returncode == 0, result.stderr
    assert load(out) == right and 0 < len(right) < 400
    assert f"{len(right)} written" in result.stdout
    assert number(r"not written: (\d+) that the filter doesn't accept",
                  result.stdout) <= 400 - len(right)


@pytest.mark.parametrize("number_of", [signal.SIGINT, signal.SIGTERM])
def test_capture_is_ended_by_a_signal(tmp_path, number_of):
    out = tmp_path / "out.pcap"
    file = save(tmp_path / "in.pcap", frames(1000))
    process = subprocess.Popen([PERIGEE, "capture", f"pcap:rx={file}", out],
                               stdout=subprocess.PIPE, text=True)
    deadline = time.time() + 120
    while not out.exists() or out.stat().st_size < file.stat().st_size:
        assert time.time() < deadline
        time.sleep(0.05)
    process.send_signal(number_of)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "1,000 packets received, 1,000 written" in output
    assert len(load(out)) == 1000


@needs_root
@pytest.mark.parametrize("options", [[], ["--pcapng"]])
def test_capture_survives_a_full_disk(tmp_path, options):
    disk, copy = tmp_path / "disk", tmp_path / "copy"
    disk.mkdir()
    script = f"""mount -t tmpfs -o size=1m tmpfs {disk} || exit 99
        {PERIGEE} capture {' '.join(options)} null:size=1000 {disk}/out
        status=$?; cp {disk}/out {copy}; exit $status"""
    result = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True,
                            text=True, timeout=60)
    assert result.returncode == 1
    assert f"can't write {disk}/out: No space left on device" in result.stderr
    assert "traceback" not in result.stderr
    written = number(r"([\d,]+) written", result.stdout)
    assert written == len(load(copy)) > 900
    received = number(r"([\d,]+) packets received", result.stdout)
    lost = number(r"not written: ([\d,]+) that the file", result.stdout)
    waiting = re.search(r"not written: ([\d,]+) not yet", result.stdout)
    assert received == written + lost + (int(waiting[1]) if waiting else 0)


def test_capture_refuses_a_file_it_cant_write(tmp_path):
    result = perigee("capture", "null", tmp_path / "missing" / "out.pcap")
    assert result.returncode == 1
    assert "No such file or directory" in result.stderr
    result = perigee("capture", "null", "/dev/full")
    assert result.returncode == 1
    assert "can't write /dev/full: No space left on device" in result.stderr


@needs_root
def test_replay_to_capture_over_a_veth_pair(tmp_path):
    packets = frames(1000)
    file, out = save(tmp_path / "in.pcap", packets), tmp_path / "out.pcap"
    script = f"""mount -t sysfs sysfs /sys || exit 99
        sysctl -qw net.ipv6.conf.default.disable_ipv6=1
        ip link add left type veth peer name right || exit 99
        ip link set left up; ip link set right up
        {PERIGEE} capture packet:right {out} --limit 1000 --duration 20 & capture=$!
        sleep 1.5
        {PERIGEE} replay {file} packet:left --rate 5kpps
        wait $capture"""
    result = subprocess.run(["unshare", "-nm", "sh", "-c", script], capture_output=True,
                            text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert load(out) == packets
    assert "replay: 1,000 packets" in result.stdout


# packetblaster -----------------------------------------------------------------


def test_packetblaster_synth_makes_frames(tmp_path):
    out = tmp_path / "out.pcap"
    result = perigee("packetblaster", "synth", "-s", "02:00:00:00:00:01", "-d",
                     "02:00:00:00:00:02", "-S", "60,128", "-D", "0.1", f"pcap:tx={out}")
    assert result.returncode == 0, result.stderr
    packets = load(out)
    assert len(packets) > 100
    header = bytes.fromhex("020000000002020000000001")
    assert packets[0] == header + struct.pack(">H", 46) + bytes(46)
    assert packets[1] == header + struct.pack(">H", 114) + bytes(114)
    assert {len(p) for p in packets} == {60, 128}


def test_packetblaster_replays_once_to_each_port(tmp_path):
    packets = frames(3000, longest=200)
    file = save(tmp_path / "in.pcap", packets)
    outs = [tmp_path / "one.pcap", tmp_path / "two.pcap"]
    result = perigee("packetblaster", "replay", "--no-loop", file,
                     *(f"pcap:tx={out}" for out in outs))
    assert result.returncode == 0, result.stderr
    assert [load(out) for out in outs] == [packets, packets]


def test_packetblaster_replays_over_and_over(tmp_path):
    packets = frames(10)
    file, out = save(tmp_path / "in.pcap", packets), tmp_path / "out.pcap"
    result = perigee("packetblaster", "replay", "-D", "0.1", file, f"pcap:tx={out}")
    assert result.returncode == 0, result.stderr
    sent = load(out)
    assert len(sent) > 20
    assert all(p == packets[i % 10] for i, p in enumerate(sent))


def test_packetblaster_refuses_ports_that_arent():
    result = perigee("packetblaster", "synth", "-D", "1", "0f:1f")
    assert result.returncode == 2
    assert "'0f:1f' matches no usable PCI device" in result.stderr


def test_packetblaster_takes_patterns_of_replaced_addresses(tmp_path):
    out = tmp_path / "out.pcap"
    result = perigee("--port", f"0000:01:00.0=pcap:tx={out}", "packetblaster", "synth",
                     "-D", "0.1", "01:00%.0")
    assert result.returncode == 0, result.stderr
    assert len(load(out)) > 100
