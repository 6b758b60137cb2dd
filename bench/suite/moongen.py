# SPDX-License-Identifier: Apache-2.0
"""Scripts of libmoon's, as `perigee moongen` runs them

Allocate buffers and send them; the same with a counter; forward; encapsulate packets of
64 and 1,450 bytes into VXLAN; UDP with random source addresses and both checksums. All
over null ports, in arrays of 63 buffers, libmoon's default. The references do the same
in C over DPDK.
"""
from suite import measure

LIMIT = 1.10
BUFFERS = 63
CASES = {
    "allocate and send": ("allocate", 60),
    "with counters": ("counters", 60),
    "l2-forward": ("forward", 60),
    "VXLAN, 64 B": ("vxlan", 64),
    "VXLAN, 1450 B": ("vxlan", 1450),
    "UDP, random sources": ("udp", 60),
}


def script(mode, size, seconds):
    text = measure.command(
        [measure.PERIGEE, "moongen", "--port", "0=null:size=%d" % size, "--port",
         "1=null", measure.ROOT / "bench" / "lua" / "moongen.lua", mode, seconds], 60)
    return measure.cycles_of(text.strip().splitlines()[-1])


def reference(mode, size, seconds):
    device = "net_null_in,size=%d,copy=0" % size
    return measure.reference_cycles("moongen", mode, device, BUFFERS, seconds)


def run(quick, rounds=None):
    measure.build("moongen")
    measure.pin()
    seconds = 0.4 if quick else 1
    rounds = rounds or (5 if quick else 20)
    rows = []
    for name, (mode, size) in CASES.items():
        cycles = measure.in_turn(rounds, {
            "perigee": lambda: script(mode, size, seconds),
            "c": lambda: reference(mode, size, seconds)})
        rows += [measure.row(name, cycles["perigee"], cycles["c"], LIMIT),
                 measure.worst_row(name, cycles["perigee"], cycles["c"])]
    return rows
