# SPDX-License-Identifier: Apache-2.0
"""Two workers joined by a ring, against rte_ring in C; and two copies against one

A null port's packets are received on one CPU and sent on another, in between is an
rte_ring; the reference does that with two threads in C. Then a null port with a queue
for each worker and 200 cycles of work a packet: two workers' packets a second of CPU
time against one's. Rounds in which a thread had less than 0.9 of its CPU don't
count: two threads that wait for each other can't be timed then.

Last, functions that keep state of flows, as perigee click --cpus divides them: each copy
has a queue's packets, by the hash of their flows, from a capture in memory. Two copies'
packets a second of CPU time against one's; beside that, two processes with a copy each,
which share nothing: what the machine gives two such programs. Those of wall time say
little where others use the CPUs, and have no limit.
"""
import os
import random
import struct
import subprocess

from suite import measure, traffic

PORT = "net_null_pg0,size=60,copy=0"
RING_LIMIT = 1 / 0.8
COPIES_LIMIT = 1 / 1.7
QUIET = 0.9  # share of a CPU
ENOUGH = 3  # quiet rounds


def lines(text):
    return [[float(word) for word in line.split()] for line in text.splitlines()]


DIVIDED_LIMIT = 1 / 1.85
MOST_ROUNDS = 5  # of what warms up for long
MILLION = 1 << 20
WARM_UP = {4096: 0.3, MILLION: 2}  # seconds of CPU time, until nearly all flows are known
ADDRESSES = 32  # of the NAT, each with 64,512 ports
NAT = """pool :: RoundRobinIPMapper(%s);
rw :: IPRewriter(pool, MAPPING_CAPACITY 4000000);
FromDPDKDevice(0) -> Strip(14) -> CheckIPHeader -> rw;
rw[0] -> Unstrip(14) -> ToDPDKDevice(1);
""" % ", ".join(f"192.0.2.{i + 1} 1024-65535 - - 0 0" for i in range(ADDRESSES))
BALANCER = """FromDPDKDevice(0) -> MarkIPHeader(14) -> CheckIPHeader(14, CHECKSUM false)
  -> FlowIPManagerIMP(CAPACITY 16384, TIMEOUT 600)
  -> FlowIPLoadBalancer(VIP 10.128.0.2, DST 10.1.0.1, DST 10.1.0.2, DST 10.1.0.3)
  -> ToDPDKDevice(1);
"""
FIREWALL = """rw :: IPRewriter(keep 0 1);
FromDPDKDevice(0) -> Strip(14) -> CheckIPHeader
  -> IPFilter(deny src net 172.16.0.0/12, deny dst port 22, allow udp, deny all) -> rw;
rw[0] -> Unstrip(14) -> ToDPDKDevice(1);
rw[1] -> Discard;
"""
FUNCTIONS = (("NAT, 4,096 flows", NAT, 4096), ("NAT, a million flows", NAT, MILLION),
             ("load balancer, 4,096 flows", BALANCER, 4096),
             ("firewall with state, 4,096 flows", FIREWALL, 4096))


def capture(flows):
    """A packet of each of so many flows, in random order."""
    order = list(range(flows))
    random.Random(38).shuffle(order)

    def frames():
        kept = bytearray(traffic.frame(60, 0x0a800002))
        for i in order:
            struct.pack_into("!H", kept, 24, 0)
            struct.pack_into("!I", kept, 26, 0x0a000000 + i // 8)
            struct.pack_into("!H", kept, 24, traffic.checksum(kept[14:34]))
            struct.pack_into("!HH", kept, 34, 1024 + i % 8, 53)
            yield bytes(kept)
    return traffic.write("cores%d" % flows, frames())


def together(workers):
    """Cycles of CPU time a packet, of all workers' packets a second of theirs."""
    return workers[0][3] / sum(packets / cpu for packets, _, cpu, _ in workers)


def in_wall_time(workers):
    return workers[0][3] / sum(packets / wall for packets, wall, _, _ in workers)


def finish(process):
    out, err = process.communicate(timeout=600)
    if process.returncode != 0:
        raise measure.Failed(err.strip())
    return out


def divided_rows(a, b, seconds, rounds):
    """Each function on one CPU, on two, and as two processes."""
    for title, text, flows in FUNCTIONS:
        file = measure.ROOT / "build" / "bench" / "cores.click"
        packets = capture(flows)
        file.write_text(text)

        def copies(of, *places, text=file, packets=packets, flows=flows):
            words = [measure.PERIGEE, "run", measure.ROOT / "bench/lua/copies.lua", text,
                     packets, seconds, WARM_UP[flows], of, *places]
            return subprocess.Popen([str(word) for word in words], text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        def two_processes():
            return lines("".join(map(finish, [copies(2, f"0:{a}"), copies(2, f"1:{b}")])))

        results = measure.in_turn(rounds, {
            "one": lambda: lines(finish(copies(1, f"0:{a}"))),
            "two": lambda: lines(finish(copies(2, f"0:{a}", f"1:{b}"))),
            "processes": two_processes})

        def row(what, mine, of, limit=None, results=results, title=title):
            return measure.paired_row(f"{title}: {what}", list(map(of, results[mine])),
                                      list(map(of, results["one"])), limit)
        yield row("two copies / one", "two", together, DIVIDED_LIMIT)
        yield row("two processes / one", "processes", together)
        yield row("two copies / one, wall time", "two", in_wall_time)
        yield row("two processes / one, wall time", "processes", in_wall_time)


def run(quick, rounds=None):
    measure.build("cores")
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise measure.Failed("this takes two CPUs, and there is one")
    seconds = 0.3 if quick else 1
    rounds = rounds or (5 if quick else 20)
    a, b = cpus[:2]
    script = measure.ROOT / "bench" / "lua" / "cores.lua"

    def perigee(what):
        return lambda: lines(measure.command(
            [measure.PERIGEE, "run", script, what, a, b, seconds], 60))

    def reference():
        packets, wall, first, second, hertz = lines(measure.command(
            [measure.ROOT / "build" / "bench" / "cores", PORT, a, b, measure.BURST,
             seconds, *measure.eal_arguments()], 60))[0]
        return [[packets, wall, first, hertz], [packets, wall, second, hertz]]

    results = measure.in_turn(rounds, {
        "c": reference, "ring": perigee("ring"), "one": perigee("one"),
        "two": perigee("two")})
    busy = []

    def cycles(name, of):
        quiet = [r for r in results[name]
                 if all(cpu / wall >= QUIET for _, wall, cpu, _ in r)]
        if len(quiet) < ENOUGH:
            busy.append(name)
            quiet = results[name]
        return [of(r) for r in quiet]

    def of_slower(workers):
        """Packets pass both threads: the one that takes longer sets the pace."""
        return max(cpu * hertz / min(w[0] for w in workers)
                   for _, _, cpu, hertz in workers)

    rows = []
    for title, mine, other, of, limit in (
            ("over a ring to another CPU", "ring", "c", of_slower, RING_LIMIT),
            ("two copies / one", "two", "one", together, COPIES_LIMIT)):
        busy.clear()
        measured = cycles(mine, of), cycles(other, of)
        if busy:
            title, limit = title + " (CPUs too busy to judge)", None
        rows.append(measure.row(title, *measured, limit))
    return [*rows, *divided_rows(a, b, seconds, min(rounds, 2 if quick else MOST_ROUNDS))]
