# SPDX-License-Identifier: Apache-2.0
"""Branchy traffic: IMIX, errors in one of ten packets, three outputs

Packets of 60, 590 and 1514 bytes in the ratio 7:4:1 come from a capture file (copied
from memory by net_pcap, for both); a check drops one in ten, for three reasons; a classifier
sends the others three ways, each with an app that marks them, to three null ports.
The reference does the same in one loop in C, in bursts of 32 or of perigee's size.
"""
from suite import measure, traffic


def run(quick, rounds=None):
    measure.build("mix")
    measure.pin()
    seconds = 0.4 if quick else 1
    rounds = rounds or (5 if quick else 20)
    file = traffic.write("mix", traffic.mixed())
    device = traffic.DEVICE % file
    cycles = measure.in_turn(rounds, {
        "fused": lambda: measure.script_cycles("mix", "fused", 0, seconds, vdev=device),
        "links": lambda: measure.script_cycles("mix", "links", 0, seconds, vdev=device),
        **measure.in_c(
            lambda burst: measure.reference_cycles("mix", device, burst, seconds))})
    other = measure.best_in_c(cycles)
    rows = [measure.row("%s, 3 ways" % kind, cycles[kind], other)
            for kind in ("fused", "links")]
    return rows + [measure.worst_row("%s, 3 ways" % kind, cycles[kind], other)
                   for kind in ("fused", "links")]
