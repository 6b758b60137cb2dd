# SPDX-License-Identifier: Apache-2.0
"""Checks of libmoon's examples."""

import json
import math
import re
import shutil
import socket
import struct
import subprocess
import urllib.request

from runs import RING, expect, good_checksums, test

from helpers.command import running


@test
def hello_world(run):
    run.script("libmoon/examples/hello-world.lua", 1, "foo")
    run.has(r"^Hello, world!$")
    run.has(r"^Command line arguments: \t1\tfoo$")
    for word in ("first", "second"):
        run.has(f'^Slave task, received argument: "Hello, world from {word} slave!"$')
    run.has(r"^All slaves finished, exiting\.\.\.$")


@test
def inter_task_communication(run):
    run.script("libmoon/examples/inter-task-communication.lua")
    run.has(r"globalVarSlave\] Global variable SOME_GLOBAL_VARIABLE = foo")
    run.has(r'tbl\.foo = "bar"')
    run.has(r"ns\.foo = 5")
    sent, got = (run.has(rf"{word} struct (.+), val = 5$")[1]
                 for word in ("Sending", "Received"))
    expect(sent == got, "another address came out of the pipe")
    run.has("Got lock!")
    times = [float(t) for t in re.findall(r"Got through barrier at timestamp ([\d.]+)",
                                          run.said)]
    expect(len(times) == 3 and max(times) - min(times) < 0.5, f"the barrier: {times}")


@test
def pktgen(run):
    run.script("libmoon/examples/pktgen.lua", 0, "-s", 2, "-r", 10,
               ports=["pcap:tx=0.pcap"])
    sent = run.packets("0.pcap")
    expect(len(sent) == int(run.has(r"TX: .* total (\d+) packets")[1]), "the total")
    ports = {struct.unpack("!H", p[34:36])[0] for p in sent}
    wanted = 1000 * (1 - math.exp(-len(sent) / 1000))  # of 1,000, at random
    expect(len(sent) > 500 and ports <= set(range(1234, 2234))
           and abs(len(ports) - wanted) < 80, f"{len(ports)} source ports")
    expect(all(len(p) == 60 and p[30:34] == bytes((10, 1, 0, 10)) for p in sent), "packets")
    expect(all(good_checksums(p) for p in sent[:200]), "checksums")


@test
def l2_forward(run):
    sent = run.traffic()
    run.script("libmoon/examples/l2-forward.lua", 0, 1, interrupt=2,
               until=run.holds(sent, "0.pcap", "1.pcap"),
               ports=["pcap:rx=in.pcap,tx=0.pcap", "pcap:rx=in.pcap,tx=1.pcap"])
    for name in ("0.pcap", "1.pcap"):
        expect([p for p in run.packets(name)] == sent, f"{name} differs")


@test
def reflector(run):
    sent = run.traffic()
    run.script("libmoon/examples/reflector.lua", 0, interrupt=1,
               until=run.holds(sent, "0.pcap"),
               ports=["pcap:rx=in.pcap,tx=0.pcap"])
    got = [p for p in run.packets("0.pcap")]
    expect(got == [p[6:12] + p[:6] + p[12:] for p in sent], "not as reflected")


@test
def dump_pkts(run):
    sent = run.traffic()
    chosen = [p for p in sent if struct.unpack("!H", p[36:38])[0] == 53]
    run.script("libmoon/examples/dump-pkts.lua", 0, "-f", "out", "udp", "port", 53,
               interrupt=1, until=run.holds(chosen, "out.pcap"), ports=["pcap:rx=in.pcap"])
    expect([p for p in run.packets("out.pcap")] == chosen, "out.pcap differs")
    run.has(rf"\[Capture, thread #1\] RX: .* total {len(chosen)} packets")


@test
def filter_udp(run):
    sent = run.traffic()
    left = [p for p in sent if struct.unpack("!H", p[36:38])[0] != 1234]
    run.script("libmoon/examples/filter.lua", 0, 1, "-u", 1234, interrupt=1,
               until=run.holds(left, "1.pcap"), ports=["pcap:rx=in.pcap", "pcap:tx=1.pcap"])
    expect([p for p in run.packets("1.pcap")] == left, "1.pcap differs")


@test
def hardware_timestamping(run):
    run.script("libmoon/examples/hardware-timestamping.lua", 0, 1, ports=RING,
               interrupt=53)
    samples = re.findall(r"^Samples: (\d+)", run.said, re.MULTILINE)
    expect(len(samples) > 8 and all(int(n) > 0 for n in samples[:8]),
           f"samples: {samples}")


MBUF = """
#include <stdint.h>
struct rte_mbuf { void *buf_addr; uint64_t buf_iova; uint16_t data_off; };
#define rte_pktmbuf_mtod(m, type) ((type)((char *)(m)->buf_addr + (m)->data_off))
"""


@test
def c_integration(run):
    """The script finds its library beside it, so that both are in the folder."""
    script = run.file("libmoon/examples/c-integration/c-integration.lua")
    (run.folder / "rte_config.h").touch()
    (run.folder / "rte_mbuf.h").write_text(MBUF)
    shutil.copy(script, run.folder)
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", f"-I{run.folder}", "-o",
                    run.folder / "libswap-macs.so", script.parent / "swap-macs.c"],
                   check=True)
    sent = run.traffic()
    run.run(run.folder / script.name, 0, ports=["pcap:rx=in.pcap,tx=0.pcap"], interrupt=1,
            until=run.holds(sent, "0.pcap"))
    expect(run.packets("0.pcap") == [p[6:12] + p[:6] + p[12:] for p in sent], "packets")


@test
def webserver(run):
    with socket.socket() as listener:  # for a port that is free
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    command = run.command(run.file("libmoon/examples/webserver.lua"), 0, "-p", port, "-b",
                          "127.0.0.1", ports=["null"])
    with running(*command, cwd=run.folder) as process:
        process.wait_for("Starting REST API on port ")
        process.wait_for("[Device: id=0] TX")
        for path, wanted in (("hello/", {"hello": "Hello, world"}),
                             ("hello/you", {"hello": "you"}),
                             ("devices/num", {"num": 1})):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}") as answer:
                expect(json.load(answer) == wanted, path)
        expect(process.interrupt() == 0, process.said[-400:])
