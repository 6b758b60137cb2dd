# SPDX-License-Identifier: Apache-2.0
"""Perigee, C and other programs, all beside each other

PEERS=DIR bench/run peers: what there is of testpmd, OvS, VPP, FastClick light, Snabb and
libmoon, in DIR or installed; bench/peers says where each is looked for, and what is missing
is named, with how to get it. All work is done by one thread on one CPU:

  ports     packets of 60 bytes come from a null port and go back to it
  swap      the same, and each packet's Ethernet addresses are exchanged
  100 apps  the same as ports, through 100 apps (elements, functions) that do nothing
  router    packets of a file in memory to null ports, by Click's IP router with four
            next hops, 58 elements
  the rest  graphs of Snabb's own apps (bench/lua/compare.lua), on Perigee as it fuses them

A burst is how many packets are received at once at most. A peer that has one size only is
set against Perigee with 256; Snabb's graphs have no port.
"""
import importlib
import os
import pathlib
import statistics
import sys

import hugepages
from peers import light, snabb
from suite import click, measure, traffic

PEERS = ("testpmd", "ovs", "vpp", "light", "snabb", "libmoon")
NULL = "net_null_pg0,size=60,copy=0"
C = "C"

missing = []  # a sentence for each peer that isn't there, or failed


class Perigee:
    """Perigee itself, as its peers are."""
    chains = {"ports": ("push", 0), "swap": ("swap", 1), "100 apps": ("fused", 100)}

    def __init__(self):
        self.snabb = snabb.Snabb([measure.PERIGEE])
        self.text = measure.ROOT / "build" / "bench" / "peers-own.click"

    def cycles(self, work, burst, seconds):
        if work in snabb.GRAPHS:
            return self.snabb.cycles(work, burst, seconds)
        if work == "router":
            self.text.write_text(light.texts(burst)[work])
            return measure.script_cycles("click", self.text, seconds, vdev=device())
        return measure.script_cycles("chain", *self.chains[work], burst, seconds)


class Reference:
    """The same in C (bench/native)."""
    chains = {"ports": "direct", "swap": "swap:1", "100 apps": "calls:100"}
    works = dict.fromkeys([*chains, "router"], (32, 256))

    def cycles(self, work, burst, seconds):
        if work == "router":
            return measure.reference_cycles("click", "router", device(), burst, seconds)
        return measure.reference_cycles("chain", NULL, self.chains[work], burst, seconds)


def device():
    return traffic.DEVICE % traffic.write("peers", light.router_packets())


def found(folder):
    """{name: peer} of those that are there; the others are noted as missing."""
    peers = {C: Reference()}
    for name in PEERS:
        module = importlib.import_module("peers." + name)
        peer = module.find(folder)
        if peer:
            peers[module.NAME] = peer
            lacks = getattr(peer, "lacks", ())
            if lacks:
                missing.append("%s was configured without %s" % (module.NAME,
                                                                 " ".join(lacks)))
        else:
            missing.append("%s isn't there: %s" % (module.NAME, module.HOW))
    return peers


def attempt(name, peer, work, burst, seconds):
    """Cycles of one run; None if that failed, which is told once."""
    try:
        return peer.cycles(work, burst, seconds)
    except (measure.Failed, OSError) as failed:
        said = "%s, %s: failed" % (name, work)
        if said not in missing:
            missing.append(said)
            print("%s: %s" % (said, failed), file=sys.stderr)
        return None


def rows_of(work, peers, seconds, rounds):
    """Rows of all peers that do the work, in turn with Perigee."""
    bursts = {name: peer.works[work] for name, peer in peers.items() if work in peer.works}
    if set(bursts) <= {C} and work not in Reference.works:
        return []
    own = Perigee()
    runs = {("Perigee", burst): lambda burst=burst: own.cycles(work, burst, seconds)
            for burst in ([None] if work in snabb.GRAPHS else [32, measure.BURST])}
    for name, sizes in bursts.items():
        for burst in sizes:
            runs[name, burst] = lambda name=name, burst=burst: attempt(
                name, peers[name], work, burst, seconds)
    cycles = measure.in_turn(rounds, runs)
    rows = []
    for (name, burst), theirs in cycles.items():
        alone = name not in ("Perigee", C) and len(bursts[name]) == 1 and burst
        mine = cycles["Perigee", measure.BURST if alone else burst]
        if name != "Perigee" and any(theirs):
            title = "%s, %s%s" % (work, name, " in bursts of %d" % burst if burst else "")
            rows.append(measure.paired_row(title, mine, theirs, work=work, peer=name,
                                           burst=burst))
    return rows


def works():
    return [*Reference.works, *snabb.GRAPHS]


def run(quick, rounds=None, only=None, seconds=None):
    folder = os.environ.get("PEERS")
    if folder and not pathlib.Path(folder).is_dir():
        raise measure.Failed("PEERS=%s is no folder: give one that has the peers' checkouts"
                             % folder)
    measure.build("chain", "click")
    measure.pin()
    missing.clear()
    peers = found(pathlib.Path(folder).resolve() if folder else None)
    rows, seconds = [], seconds or (0.3 if quick else 1)
    with hugepages.given_back():
        for work in only or works():
            rows += rows_of(work, peers, seconds, rounds or (3 if quick else 20))
    return rows


def notes():
    """What is missing of the last run, a sentence each."""
    return list(missing)


def markdown(result):
    """The table of a run, as bench/run writes it, of all peers."""
    machine, hertz = result["machine"], result["machine"]["tsc_hz"]
    lines = ["%s: %s, %d CPUs, TSC %.3f GHz, %s hugepages, Linux %s." % (
        result["date"], machine["cpu"], machine["cpus"], hertz / 1e9,
        "with" if machine["hugepages"] else "without", machine["kernel"]), "",
        "| work | burst | program | ns a packet | the least | Perigee beside it | ratio |",
        "|---|---|---|---|---|---|---|"]
    for row in result["rows"]:
        nanoseconds = [1e9 / hertz * cycles for cycles in (
            row["reference"], row["reference_min"], row["cycles"])]
        lines.append("| %s | %s | %s | %.1f | %.1f | %.1f | %.2f |" % (
            row["work"], row["burst"] or "", row["peer"], *nanoseconds, row["ratio"]))
    return "\n".join([*lines, "", *("- " + note for note in result["notes"])])
