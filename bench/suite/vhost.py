# SPDX-License-Identifier: Apache-2.0
"""A virtual machine's port against net_vhost in C, and a switch for 2 and 64 of them

192 packets of 60 bytes go round between both ends of a vhost-user socket, in one thread:
`vhost:` and `virtio-user:` ports, and the same two devices in C. Then 2 and 64 ports give
bursts of 32 packets each for the others, through the switch by VLAN and MAC address and
by links past it.
"""
import statistics

from suite import measure

LIMIT = 1.25  # the aim is 1.10


def switch_limit():
    """Cycles more than links take. In pages of 4 kB, 64 ports' packets exceed the TLB."""
    return 45 if "--no-huge" in measure.eal_arguments() else 30


def run(quick, rounds=None):
    rounds = rounds or (5 if quick else 20)
    seconds = 0.3 if quick else 1
    rows = measure.pair_rows(
        "vhost and virtio-user", ("vhost:%s", "virtio-user:%s"),
        ("net_vhost_pg0,iface=%s,queues=1,linear-buffer=1",
         "net_virtio_user_pg1,path=%s,queues=1"), LIMIT, quick, rounds)
    more = switch_limit()
    for ports in (2, 64):
        results = measure.in_turn(rounds, {
            what: lambda what=what: measure.script_cycles("vhost", what, ports, seconds)
            for what in ("switch", "links")})
        past = statistics.median(results["links"])
        rows.append(measure.row(f"switch, {ports} ports, against links", results["switch"],
                                results["links"], (past + more) / past))
    return rows
