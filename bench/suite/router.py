# SPDX-License-Identifier: Apache-2.0
"""An IPv4 router's path with a million routes

Check header and checksum, look up the route (rte_fib, the bulk lookup in C for both),
count down the TTL, write the next hop's Ethernet addresses. UDP packets to 2,048
destinations come from a capture file (copied from memory by net_pcap, for both). The
reference does the same in C: two loops over the burst around the lookup, in bursts of 32
or of perigee's size, whichever is better.
"""
import array
import random

from suite import measure, traffic

LIMIT = 1.15
ROUTES, QUICK_ROUTES = 1000000, 100000
PACKETS = 2048
HOPS = 16
FIRST, LAST = 1 << 24, 224 << 24  # 1.0.0.0 to 223.255.255.255


def routes(n, dice):
    """n routes with distinct prefixes, of the lengths that the Internet's have."""
    found = {}
    lengths = random.Random(2).choices(
        (16, 18, 20, 21, 22, 23, 24, 28), (2, 2, 6, 6, 12, 12, 59, 1), k=4 * n)
    for length in lengths:
        address = dice.randrange(FIRST, LAST) >> (32 - length) << (32 - length)
        found.setdefault((address, length), dice.randint(1, HOPS))
        if len(found) == n:
            break
    return [(address, length, hop) for (address, length), hop in found.items()]


def write_routes(table, name="routes"):
    """Write routes to build/bench/NAME.bin; its path."""
    path = measure.ROOT / "build" / "bench" / (name + ".bin")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(array.array("I", [n for route in table for n in route]).tobytes())
    return path


def packets(table, dice):
    """Packets to addresses that routes of the table lead to."""
    def inside(address, length, _):
        return address | dice.getrandbits(32 - length)
    return [traffic.frame(60, inside(*dice.choice(table))) for _ in range(PACKETS)]


def run(quick, rounds=None):
    measure.build("router")
    measure.pin()
    seconds = 0.4 if quick else 1
    rounds = rounds or (5 if quick else 20)
    dice = random.Random(1)
    table = routes(QUICK_ROUTES if quick else ROUTES, dice)
    table_file = write_routes(table)
    file = traffic.write("router", packets(table, dice))
    device = traffic.DEVICE % file
    cycles = measure.in_turn(rounds, {
        "perigee": lambda: measure.script_cycles("router", 0, table_file, seconds,
                                                 vdev=device),
        **measure.in_c(lambda burst: measure.reference_cycles(
            "router", device, table_file, burst, seconds))})
    mine, other = cycles["perigee"], measure.best_in_c(cycles)
    name = "router, %d routes" % len(table)
    return [measure.row(name, mine, other, LIMIT), measure.worst_row(name, mine, other)]
