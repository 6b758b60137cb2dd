# SPDX-License-Identifier: Apache-2.0
"""Scripts of libmoon's on Perigee: tasks, devices and queues, and how scripts end."""

import re
import struct

import pytest
from scapy.all import ARP, IP, UDP, Dot1Q, Ether, Raw

from helpers import capture
from helpers.command import PERIGEE, ROOT, run, running, wait_until

SCRIPTS = ROOT / "test/moongen"


def moongen(script, *args, ports=(), eal="", **kwargs):
    """Run a script of this folder with these ports as devices 0, 1, ..."""
    options = [word for i, port in enumerate(ports) for word in ("--port", f"{i}={port}")]
    return run(PERIGEE, *(["--eal", eal] if eal else []), "moongen", *options,
               SCRIPTS / f"{script}.lua", *args, **kwargs)


def test_tasks_pass_and_share_values():
    result = moongen("tasks", "1", "foo")
    assert result.returncode == 1  # a task failed
    assert "task 'fail'" in result.stderr
    assert re.search(r"tasks\.lua:\d+: on purpose", result.stderr)
    lines = [line for line in result.stdout.splitlines()
             if not re.match(r"\x1b|\[(INFO|WARN)|   Device", line)]
    table = lines[1].split("\t")
    assert lines[0] == "arguments\t1\tfoo"
    assert table[:4] == ["results", "4", "nil", "two"]
    assert table[4].startswith("table:") and table[5] == "nil"
    assert lines[2:] == [
        "object\ttrue\t7\ttop level", "loop\ttrue\t1", "slow pipe\ta\tnil\t2",
        "fast pipe\t42", "held\tnil\ttrue", "held\t1", "met\ttrue\ttrue", "failed",
        "key\theld", "key\tother", "key\tkey", "sum\t15"]


def packets(n):
    """UDP of several flows, some to port 53 or 9, some with a VLAN tag, and ARP."""
    made = []
    for i in range(n):
        if i % 10 == 0:
            made.append(Ether(src="02:00:00:00:00:01", dst="ff:ff:ff:ff:ff:ff")
                        / ARP(psrc="10.0.0.1", pdst="10.0.0.2") / Raw(bytes(18)))
            continue
        port = {1: 53, 2: 9}.get(i % 10, 1000)
        ether = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
        if i % 10 == 1 and i % 20 == 1:
            ether = ether / Dot1Q(vlan=5)
        made.append(ether / IP(src="10.0.0.1", dst="10.0.0.2")
                    / UDP(sport=1000 + i % 50, dport=port) / Raw(bytes(20 + i % 900)))
    return made


@pytest.mark.parametrize("threads", [1, 2])
def test_forwards_all_in_order_until_a_signal(tmp_path, threads):
    sent = [bytes(p) for p in packets(700)]
    capture.save(tmp_path / "a.pcap", sent)
    capture.save(tmp_path / "b.pcap", sent[:100])
    ports = [f"pcap:rx={tmp_path}/a.pcap,tx={tmp_path}/to0.pcap",
             f"pcap:rx={tmp_path}/b.pcap,tx={tmp_path}/to1.pcap"]
    command = [PERIGEE, "moongen", "--port", f"0={ports[0]}", "--port", f"1={ports[1]}",
               SCRIPTS / "forward.lua", 0, 1, "-t", threads, "-p", "udp", "port", "53"]
    with running(*command) as process:
        process.wait_for("filter\tudp port 53")
        wait_until(lambda: process.read() and written(tmp_path / "to1.pcap") == 700
                   and written(tmp_path / "to0.pcap") == 100, "the packets")
        assert process.interrupt() == 0
        said = process.said
    to0 = list(capture.load(tmp_path / "to0.pcap"))
    to1 = list(capture.load(tmp_path / "to1.pcap"))
    if threads == 1:
        assert (to0, to1) == (sent[:100], sent)
    assert (sorted(to0), sorted(to1)) == (sorted(sent[:100]), sorted(sent))
    assert re.search(r"\[Device: id=0\] RX: .* total 700 packets", said)
    assert re.search(r"\[Device: id=1\] TX: .* total 700 packets", said)


def written(path):
    """How many packets are in the file, which is being written."""
    try:
        return len(list(capture.load(path)))
    except (AssertionError, OSError, struct.error):
        return 0


def test_queues_of_software_are_sorted_by_rules_and_hash(tmp_path):
    capture.save(tmp_path / "in.pcap", [bytes(p) for p in packets(1000)])
    result = moongen("sort", 0, ports=[f"pcap:rx={tmp_path}/in.pcap"])
    assert result.returncode == 0, result.stderr
    got = {m[1]: (int(m[2]), m[3]) for m in
           re.finditer(r"^queue\t(\d)\t(\d+)\t(.*)$", result.stdout, re.M)}
    assert got["0"][0] == 0
    assert got["1"][0] == 100  # ARP
    assert got["2"][0] == 100  # to port 53, also with a tag
    assert got["3"][0] + got["4"][0] == 700  # 100 to port 9 were dropped
    assert not set(got["3"][1].split(",")) & set(got["4"][1].split(","))
    assert got["3"][0] > 0 and got["4"][0] > 0
    assert re.search(r"^device\t1000$", result.stdout, re.M)


def test_queues_of_software_keep_the_order_of_their_packets(tmp_path):
    """Tasks take turns at the device. What one finds for the other's queue, after that
    has looked into it, mustn't be overtaken by what the other then fetches itself."""
    made = []
    for i in range(8000):
        udp = UDP(sport=1000 + i % 16, dport=9) / Raw(struct.pack("=I", i) + bytes(14))
        made.append(bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
                          / IP(src="10.0.0.1", dst="10.0.0.2") / udp))
    capture.save(tmp_path / "in.pcap", made)
    result = moongen("order", 4, len(made), 2,
                     ports=[f"pcap:rx={tmp_path}/in.pcap,loop=1"])
    assert result.returncode == 0, result.stderr
    got = re.findall(r"^queue\t\d\t(\d+)\t(\d+)\t(\d+)$", result.stdout, re.M)
    assert len(got) == 4
    assert sum(int(came) for came, _, _ in got) > len(made)
    assert all(late == "0" or missed != "0" for _, late, missed in got), got


def test_a_ring_loses_nothing_that_is_asked_for():
    result = moongen("ring", 20000, ports=["ring:moongen", "ring:moongen"])
    assert result.returncode == 0, result.stderr
    assert re.search(r"^received\t20000\ttrue$", result.stdout, re.M)


@pytest.mark.parametrize("buffers", [100, 600, 2047])
def test_a_pool_has_all_its_buffers_when_they_are_wanted(buffers):
    """Whichever threads have freed them, and keep some at hand."""
    result = moongen("pools", buffers, 8, 4, ports=["ring:moongen", "ring:moongen"])
    assert result.returncode == 0, result.stderr
    assert f"sent\t{8 * buffers}\n" in result.stdout


def test_one_look_goes_past_the_packets_of_other_queues(tmp_path):
    """On a busy machine a task may not get to look again soon."""
    udp = Ether() / IP() / UDP() / Raw(bytes(18))
    capture.save(tmp_path / "in.pcap", [bytes(udp)] * 500 + [bytes(Ether() / ARP())])
    script = tmp_path / "look.lua"
    script.write_text("""
        local device, memory = require "device", require "memory"
        function master()
          local dev = device.config{port = 0, rxQueues = 2}
          dev:l2Filter(0x0806, dev:getRxQueue(1))
          print("got", dev:getRxQueue(1):tryRecv(memory.bufArray(), 0))
        end""")
    result = run(PERIGEE, "moongen", "--port", f"0=pcap:rx={tmp_path}/in.pcap", script)
    assert "got\t1\n" in result.stdout, result.stderr


def test_a_filter_ends_when_queue_0_is_to_be_measured():
    result = moongen("queues", ports=["ring:moongen", "ring:moongen"])
    assert result.returncode == 0, result.stderr
    assert re.findall(r"^came\t(\w+)\t(\d)\t(\w+)$", result.stdout, re.M) == [
        (udp, queue, "true") for udp in ("false", "true") for queue in "101"]


def test_a_burst_with_a_buffer_twice_is_refused_whole(tmp_path):
    result = moongen("marks", ports=[f"pcap:tx={tmp_path}/0.pcap"])
    assert result.returncode == 0, result.stderr
    lengths = [len(p) for p in capture.load(tmp_path / "0.pcap")]
    assert lengths == 71 * [60] + [60] + [60 + i for i in range(70)] + [60, 60]
    lines = re.findall(r"^(twice|gone|sent|two references|counted)\t(.*)$", result.stdout,
                       re.M)
    assert lines == 2 * [("twice", "true"), ("gone", "true"), ("sent", "70")] + [
        ("two references", "2"), ("counted", f"{len(lengths)}\t{sum(lengths) + 4 * 144}")]


@pytest.mark.parametrize("name, status, sentence", [
    ("twice", 1, "sending a buffer that was sent or freed already"),
    ("free_twice", 1, "a buffer is freed that was sent or freed already"),
    ("empty_array", 1, "slots that have no buffer"),
    ("dry", 1, "the memory pool is empty: all of its 100 buffers are in use"),
    ("fill_too_long", 1, "fill: pktLength is 9562, and this buffer holds 2048 bytes "),
    ("too_long", 1, "a buffer of this pool holds 0 to 100 bytes, not 101"),
    ("no_device", 2, "there is no device 7; there is 0; say what it is with --port 7=PORT"),
    ("no_queue", 2, "configured with tx queues 0 to 0, tried to get queue 1"),
    ("not_configured", 2, "device 0 isn't configured: call device.config"),
    ("queues", 2, "rssQueues 4 from queue 0 on need 4 rxQueues, not 1"),
    ("no_task", 1, "the script has no global function 'nobody'"),
    ("limiter", 1, f"task 'master': {SCRIPTS}/wrong.lua:45: Unsupported mode even; "),
    ("no_folder", 1, f"{SCRIPTS}/wrong.lua:54: can't write statistics: nowhere/counts: "),
    ("task", 1, f"task 'task': {SCRIPTS}/wrong.lua:"),
    ("exit", 3, ""),
])
def test_what_is_wrong_is_said(tmp_path, name, status, sentence):
    result = moongen("wrong", name, ports=["null"], cwd=tmp_path, eal="--no-huge")
    assert result.returncode == status
    assert sentence in result.stderr
    if name == "exit":
        assert (tmp_path / "left.txt").read_text() == "complete"
        assert "not reached" not in result.stdout


@pytest.mark.parametrize("script, args, sentence", [
    ("wrong", ["no_device"], "there is no device 7; there is 0, 1;"),
    ("wrong", ["queues"], "rssQueues 4 from queue 0 on need 4 rxQueues, not 1"),
    ("forward", [0, "x"], "malformed argument 'x'"),
])
def test_wrong_arguments_are_found_before_dpdk_starts(script, args, sentence):
    result = moongen(script, *args, ports=["null", "null"], eal="--no-such-option")
    assert result.returncode == 2
    assert sentence in result.stderr and "DPDK" not in result.stdout + result.stderr
    started = moongen("forward", 0, 1, ports=["null", "null"], eal="--no-such-option")
    assert started.returncode == 1 and "DPDK doesn't start" in started.stderr


@pytest.mark.parametrize("ports, sentence", [
    (["null", "packet:perigee-none"], "perigee-none"),
    (["pcap:rx=/nowhere/a.pcap"], "/nowhere/a.pcap"), (["nosuch:x"], "nosuch")])
def test_ports_that_can_not_be_are_found_before_dpdk_starts(ports, sentence):
    result = moongen("wrong", "twice", ports=ports, eal="--no-such-option")
    assert result.returncode == 2
    assert sentence in result.stderr and "DPDK" not in result.stdout
    assert result.stderr.count("\n") == 1


def test_two_devices_of_one_port():
    result = moongen("wrong", "twice", ports=["packet:lo", "packet:lo"], eal="--no-huge")
    assert result.returncode == 2
    assert "this process uses it already" in result.stderr or "needs root" in result.stderr


def test_headers_that_truncated_packets_do_not_have(tmp_path):
    """Reading and writing them stays in the packet's buffer."""
    whole = bytes(Ether() / IP() / UDP() / bytes(20))
    capture.save(tmp_path / "in.pcap", [whole[:n] for n in range(1, len(whole))])
    script = tmp_path / "script.lua"
    script.write_text("""
        local device, memory = require "device", require "memory"
        function master(n)
          local own = memory.createMemPool{n = 100, bufSize = 1, func = function (buf)
            buf:getVxlanEthernetPacket():fill{pktLength = 1}
          end}
          local rx = device.config{port = 0}:getRxQueue(0)
          local bufs, got = memory.bufArray(), 0
          while got < n do
            local m = rx:tryRecv(bufs, 1e6)
            for i = 1, m do
              bufs[i]:getTcpPacket().tcp:setWindow(bufs[i]:getUdpPacket().udp:getLength())
              bufs[i]:get()
              bufs[i]:dump(nil, io.stderr)
            end
            bufs:offloadTcpChecksums()
            device.get(0):getTxQueue(0):sendN(bufs, m)
            got = got + m
          end
          local mine = own:bufArray(100)
          mine:alloc(1)
          mine:freeAll()
          print("read", got)
        end""")
    port = f"pcap:rx={tmp_path}/in.pcap,tx={tmp_path}/out.pcap"
    result = run(PERIGEE, "moongen", "--port", f"0={port}", script, len(whole) - 1)
    assert result.returncode == 0, result.stderr[-2000:]
    assert f"read\t{len(whole) - 1}\n" in result.stdout
    sizes = [len(p) for p in capture.load(tmp_path / "out.pcap")]
    assert sizes == list(range(sizes[0], len(whole)))


@pytest.mark.parametrize("how, told", [("each", []), ("both", ["TxQueue: id=0, qid=1",
                                                              "RxQueue: id=0, qid=0"])])
def test_two_tasks_that_go_on_on_one_queue_are_told(how, told):
    """Once each; one after the other may use it."""
    result = moongen("shared_queue", how, ports=["null"])
    assert result.returncode == 0, result.stderr
    assert re.findall(r"^\[WARN\]  \[(.*)\]: two tasks use it; ", result.stdout, re.M) == told


@pytest.mark.parametrize("cpu, status, said", [
    ("4000", 0, "there is no CPU 4000 for the task; this process may use "),
    ("'x'", 2, "a task runs on the CPU of a number, not on 'x'")])
def test_a_cpu_that_is_not_there(tmp_path, cpu, status, said):
    script = tmp_path / "script.lua"
    script.write_text(f"""
        local lm = require "libmoon"
        function master() lm.launchLuaOnCore({cpu}, "task") lm.waitForTasks() end
        function task() print("ran") end""")
    result = run(PERIGEE, "moongen", script)
    assert (result.returncode, "ran\n" in result.stdout) == (status, status == 0)
    assert said in result.stdout + result.stderr


def test_leaks_and_tasks_that_do_not_end_are_told():
    leak = moongen("wrong", "leak", ports=["null"])
    assert leak.returncode == 0
    assert "neither sent nor freed: 500 of pool 1's 2047" in leak.stdout
    endless = moongen("wrong", "endless", ports=["null"])
    assert endless.returncode == 0
    assert "still running at the end, and ended: run_on" in endless.stdout


@pytest.mark.parametrize("text, status, sentence", [
    (None, 2, "can't read the script: "),
    ("x = = 1", 1, "script.lua:1: unexpected symbol near '='"),
    ("error('top')", 1, "script.lua:1: top"),
    ("x = 1", 2, "has no function master()"),
])
def test_a_script_that_can_not_begin(tmp_path, text, status, sentence):
    script = tmp_path / "script.lua"
    if text:
        script.write_text(text)
    result = run(PERIGEE, "moongen", script)
    assert (result.returncode, result.stdout) == (status, "")
    assert sentence in result.stderr


def test_wrong_arguments_are_argparse_s():
    result = moongen("forward", 0, "x", ports=["null", "null"])
    assert result.returncode == 2
    assert "malformed argument 'x'" in result.stderr


@pytest.mark.parametrize("name", ["libmoon", "MoonGen", "moongen"])
def test_names(tmp_path, name):
    (tmp_path / name).symlink_to(PERIGEE)
    result = run(tmp_path / name, "--port", "0=null", SCRIPTS / "wrong.lua", "no_device")
    assert result.returncode == 2
    assert "there is no device 7" in result.stderr


def test_the_option_port_may_be_before_the_program():
    result = run(PERIGEE, "--port", "0=null", "moongen", SCRIPTS / "wrong.lua", "no_device")
    assert "there is 0;" in result.stderr
