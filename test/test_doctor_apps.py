# SPDX-License-Identifier: Apache-2.0
"""`perigee doctor` finds the packet path of every app clean: no line of it is left to
the interpreter."""

import itertools
import threading

import pytest

from helpers.capture import save
from helpers.command import PERIGEE, ROOT, perigee, run
from helpers.doctor import CLEAN, assert_clean
from helpers.network import veth

GRAPHS = ROOT / "test" / "doctor_graphs.lua"


def doctor(seconds):
    return "doctor", "--duration", seconds, "run", GRAPHS


DOCTOR = doctor(1)
SLOW_DOCTOR = doctor(5)
MANY_APPS = {"vtep"}  # LuaJIT has some hundred traces to compile first

# The folder of src/apps that each graph stands for, beside apps.port: what it needs.
PLAIN = [
    ("basic", "basic"), ("basic", "repeater"), ("basic", "ends"), ("fwd", "fwd"),
    ("ip", "ip"), ("pcap", "writer", "pcap"), ("pcap", "writer", "pcapng"),
    ("port", "port", "null"), ("port", "ring"), ("test", "synth"),
    ("generate", "generate"), ("rss", "rss"),
    ("ipv4", "fragments", "ipv4", "500"), ("ipv6", "fragments", "ipv6", "1280"),
    ("vlan", "vlan"), ("keyed_ipv6_tunnel", "keyed_ipv6_tunnel"),
    ("packet_filter", "packet_filter"), ("bridge", "bridge", "learning"),
    ("bridge", "bridge", "flooding"), ("interlink", "interlink"),
    ("rate_limiter", "rate_limiter"), ("rewrite", "rewrite"), ("record", "record"),
    ("vtep", "vtep", "4"),
    ("vtep", "vtep", "6"), ("load", "load"), ("ipv4", "arp"), ("ipv6", "nd_light"),
    ("ipv6", "ns_responder"), ("ipsec", "ipsec"), ("vlan_switch", "vlan_switch"),
]
FILE = [("pcap", "replayer", *rest) for rest in
        [("speed", "1e6"), ("bit_rate", "1e12"), ("packet_rate", "1e9"),
         ("limit", "1e12")]]
CARD = "0000:01:00.0"
CARDS = [
    ("intel", "card", "apps.intel.intel_app", "Intel82599", "{pciaddr = '%s'}"),
    ("intel_mp", "card", "apps.intel_mp.intel_mp", "Intel", "{pciaddr = '%s'}"),
    ("intel_mp", "loadgen", CARD),
    ("intel_avf", "card", "apps.intel_avf.intel_avf", "Intel_avf", "{pciaddr = '%s'}"),
    ("solarflare", "card", "apps.solarflare.solarflare", "Solarflare",
     "{pciaddr = '%s'}"),
    ("virtio_net", "card", "apps.virtio_net.virtio_net", "VirtioNet",
     "{pciaddr = '%s'}"),
    ("dpdk_device", "card", "apps.dpdk_device.dpdk_device", "DPDKDevice",
     "{port = 'null'}"),
]
WIRES = [
    ("socket", "apps.socket.raw", "RawSocket", "'one'", "'two'"),
    ("xdp", "apps.xdp.xdp", "XDP", "{ifname = 'one'}", "{ifname = 'two'}"),
]
# Not here: the Port app by another name, whose other end these tests haven't (two
# processes that share a queue pair, a virtual machine); and the lwAFTR, whose packets pass
# in C (test_lwaftr_bad_packets.py).
OTHERS = {"lwaftr", "mellanox", "vhost"}


@pytest.mark.parametrize("case", PLAIN, ids=" ".join)
def test_apps_alone(case):
    words = SLOW_DOCTOR if case[0] in MANY_APPS else DOCTOR
    assert_clean(perigee(*words, *case[1:]))


def test_apps_for_tests(tmp_path):
    assert_clean(perigee(*DOCTOR, "tests", tmp_path))
    assert "later,input," in (tmp_path / "link.csv").read_text()


def frames(count):
    return (bytes(60 + i % 1000) for i in range(count))


@pytest.fixture
def file(tmp_path):
    return save(tmp_path / "in.pcap", frames(20000))


@pytest.mark.parametrize("case", FILE, ids=" ".join)
def test_apps_that_read_a_file_again_and_again(case, file):
    assert_clean(perigee(*DOCTOR, case[1], file, *case[2:]))


def test_a_reader_of_pcapng(scratch):
    file = scratch / "in.pcapng"
    perigee("capture", "--pcapng", "null:size=200", file, "--limit", "100000")
    assert_clean(perigee(*DOCTOR, "replayer", file, "limit", "1e12"))


def test_a_port_that_is_a_file(tmp_path):
    file = save(tmp_path / "in.pcap", frames(4000))
    assert_clean(perigee(*DOCTOR, "port", f"pcap:rx={file},loop=1"))


def doctor_of_a_pipe(pipe, data):
    """What the doctor says of a reader of the pipe, written to for as long as it reads."""
    def write():
        with open(pipe, "wb", buffering=0) as out:
            try:
                for part in itertools.chain([data[:24]], itertools.repeat(data[24:])):
                    while part:
                        part = part[out.write(part):]
            except BrokenPipeError:
                pass

    writer = threading.Thread(target=write)
    writer.start()
    result = perigee(*DOCTOR, "reader", pipe)
    writer.join()
    return result


def test_a_reader_of_a_file_without_end(file, tmp_path):
    pipe = tmp_path / "pipe"
    run("mkfifo", pipe)
    results = (doctor_of_a_pipe(pipe, file.read_bytes()) for _ in range(3))
    for result in results:
        if CLEAN in result.stdout:
            break
    assert_clean(result, runs=1)


@pytest.mark.parametrize("case", CARDS, ids=lambda case: case[0])
def test_apps_of_cards(case):
    _, graph, *rest = case
    rest = [text.replace("%s", CARD) for text in rest]
    assert_clean(perigee("--port", f"{CARD}=null", *DOCTOR, graph, *rest))


@pytest.mark.parametrize("case", WIRES, ids=lambda case: case[0])
def test_apps_of_kernel_interfaces(case, namespace):
    one = namespace()
    veth(one, "one", one, "two")
    assert_clean(run(*one.command(PERIGEE, *DOCTOR, "wire", *case[1:])))


def test_tap(namespace):
    assert_clean(run(*namespace().command(PERIGEE, *DOCTOR, "tap")))


def test_connections():
    assert_clean(perigee("doctor", "--duration", 3, "connect", "both", "--clients",
                         "10.0.0.1..10.0.0.99", "--servers", "10.0.1.1", "--http", "/"))


def test_no_app_is_left_out():
    tested = {case[0] for case in PLAIN + FILE + CARDS + WIRES} | {"tap", "connect"} | OTHERS
    there = {folder.name for tree in ("src", "snabb")
             for folder in (ROOT / tree / "apps").iterdir()
             if list(folder.rglob("*.lua"))}
    assert there == tested, "add the app to test/doctor/*.lua, and to a list here"
