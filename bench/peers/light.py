# SPDX-License-Identifier: Apache-2.0
"""FastClick, built as its README says under "Light"."""
import re

from peers import process
from suite import click, fastclick, measure, traffic

NAME = "FastClick light"
OPTIONS = ("--enable-dpdk --enable-intel-cpu --disable-dynamic-linking "
           "--enable-bound-port-transfer --enable-flow --disable-task-stats "
           "--disable-cpu-load --enable-dpdk-packet --disable-clone "
           "--disable-dpdk-softqueue").split()
HOW = ("DIR/fastclick: a checkout of github.com/tbarbette/fastclick after ./configure with "
       "its README's options (Light) and `make`; Debian's libdpdk.pc puts -march=corei7 "
       "last, so let CXX be a script: exec g++ \"$@\" -march=native")
BURSTS = (32, 256)
IN, OUT = "in :: FromDPDKDevice(0, BURST %d) -> ", "ToDPDKDevice(0);\n"


def texts(burst):
    """{work: its configuration}."""
    begin = IN % burst
    router = click.router().replace("FromDPDKDevice(0)",
                                    "FromDPDKDevice(0, BURST %d)" % burst)
    return {"ports": begin + OUT, "swap": begin + "EtherMirror -> " + OUT,
            "100 apps": begin + "Null -> " * 100 + OUT, "router": router}


def find(folder):
    for name in ("userlevel/click", "bin/click"):
        if folder and (folder / "fastclick" / name).is_file():
            return FastClick(folder / "fastclick", name)
    return None


class FastClick:
    works = dict.fromkeys(texts(1), BURSTS)

    def __init__(self, checkout, name):
        self.program = checkout / name
        log = checkout / "config.log"
        line = re.search(r"^  \$ (.*configure.*)", log.read_text(), re.M) \
            if log.is_file() else None
        # What is measured is named: a usual build takes up to twice as long.
        self.lacks = [option for option in OPTIONS if line and option not in line.group(1)]

    def cycles(self, work, burst, seconds):
        device = traffic.DEVICE % traffic.write("peers", router_packets()) \
            if work == "router" else process.NULL % 0
        file = measure.ROOT / "build" / "bench" / "peers.click"

        def program(text):
            file.write_text(text)
            return self.program, file

        return fastclick.try_cycles(texts(burst)[work], device, seconds,
                                    fastclick.WARM_UP_S, program)


def router_packets():
    """As in bench/run click: to four next hops at random."""
    _, packets, _ = click.CASES["router, 4 hops"]
    return packets(click.random.Random(1))
