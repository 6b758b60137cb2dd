# SPDX-License-Identifier: Apache-2.0
"""An lwAFTR between two ports, with up to a million softwires, against C

IPv4 packets into their softwires' tunnels and packets from tunnels out again, half of
each, from capture files (copied from memory by net_pcap, for both). The reference does
the same checks, lookups and writes. Then what has other shares: IMIX, a tenth of the
packets from B4s to other B4s, one packet in a hundred in two fragments (which the
reference frees); and two CPUs, each with ports of its own, against one. With SNABB=DIR,
a built checkout, upstream's `lwaftr bench` takes turns, whose source copies packets of
one flow each.
"""
import os
import random
import re
import struct

from suite import measure, traffic

LIMIT = 1.3  # the aim is 1.15
TWO_LIMIT = 1 / 1.8
SNABB_LIMITS = {94: 1 / 2.0, 550: 1 / 1.8, 1500: None}
QUIET, ENOUGH = 0.9, 3  # share of a CPU, rounds that have as much
ETHERNET, IP4, IP6 = 14, 20, 40
FOLDER = measure.ROOT / "build" / "bench"
# Addresses of 63 softwires each, and flows.
SMALL, LARGE, QUICK_LARGE = (64, 2048), (15874, 16384), (1588, 16384)


def generate(name, addresses, flows, size):
    """A configuration and packets of both sides for it, as paths and lists of frames."""
    conf, v4, v6 = (FOLDER / (name + end) for end in (".conf", ".v4", ".v6"))
    measure.command([
        measure.PERIGEE, "lwaftr", "generate", "-o", conf, "-4", v4, "-6", v6, "-s",
        size, "-n", flows, "193.0.0.0", addresses, "fc00::200",
        "fc00:1:2:3:4:5:0:7e", 6], 60)
    return conf, read(v4), read(v6)


def read(path):
    """The frames of a capture file."""
    data, at, frames = path.read_bytes(), 24, []
    while at < len(data):
        length = struct.unpack_from("=8xI", data, at)[0]
        frames.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return frames


def with_checksum(ip):
    header = ip[:10] + b"\0\0" + ip[12:IP4]
    return header[:10] + struct.pack("!H", traffic.checksum(header)) + ip[12:]


def turned(frame, other):
    """A frame from a B4, to the address and port of the other's."""
    at = ETHERNET + IP6
    ip, peer = frame[at:], other[at:]
    ip = ip[:16] + peer[12:16] + ip[20:22] + peer[20:22] + ip[24:]
    return frame[:at] + with_checksum(ip)


def cut(frame):
    """An IPv4 frame in two fragments."""
    ip, half = frame[ETHERNET:], (len(frame) - ETHERNET - IP4) // 16 * 8
    first = ip[:2] + struct.pack("!HHH", IP4 + half, 7, 0x2000) + ip[8:IP4 + half]
    second = (ip[:2] + struct.pack("!HHH", len(ip) - half, 7, half // 8) + ip[8:IP4] +
              ip[IP4 + half:])
    return [frame[:ETHERNET] + with_checksum(part) for part in (first, second)]


def imix(sizes, dice):
    """Frames of three lists (94, 590 and 1,454 bytes), 7 to 4 to 1."""
    frames = [dice.choices(sizes, (7, 4, 1))[0][i] for i in range(len(sizes[0]))]
    dice.shuffle(frames)
    return frames


def kinds(large):
    """By name: a configuration and the frames of both sides."""
    dice = random.Random(1)
    small = {size: generate("lwaftr-%d" % size, *SMALL, size)
             for size in (94, 550, 590, 1454)}
    conf, v4, v6 = small[94]
    result = {"94 B": small[94], "550 B": small[550]}
    name = "94 B, %d softwires, %d flows" % (63 * large[0], large[1])
    result[name] = generate("lwaftr-large", *large, 94)
    result["IMIX"] = (conf, *(imix([small[s][side] for s in (94, 590, 1454)], dice)
                              for side in (1, 2)))
    result["550 B, 10 % hairpinned"] = (conf, small[550][1], [
        turned(frame, dice.choice(v6)) if dice.random() < 0.1 else frame
        for frame in small[550][2]])
    result["550 B, 1 % in fragments"] = (conf, [
        part for frame in small[550][1]
        for part in (cut(frame) if dice.random() < 0.01 else [frame])], small[550][2])
    return result, name


def devices(name, v4, v6, cpus=1):
    """net_pcap devices that give these frames over and over, two for each CPU."""
    slug = re.sub(r"\W+", "-", name)
    paths = [traffic.write("lwaftr-%s-%s" % (slug, side), frames)
             for side, frames in (("4", v4), ("6", v6))]
    return ["net_pcap%d,rx_pcap=%s,infinite_rx=1" % (2 * i + k, path)
            for i in range(cpus) for k, path in enumerate(paths)]


def perigee(conf, vdevs, seconds, *cpus):
    options = [word for vdev in vdevs for word in ("--eal", "--vdev=" + vdev)]
    return measure.command(
        [measure.PERIGEE, *options, "run", measure.ROOT / "bench/lua/lwaftr.lua", conf,
         seconds, *cpus], 300)


def table(conf):
    """The configuration's softwires, as the reference reads them."""
    path = conf.with_suffix(".softwires")
    measure.command([measure.PERIGEE, "run", measure.ROOT / "bench/lua/lwaftr.lua",
                     conf, "table", path], 60)
    return path


def against_c(name, kind, rounds, seconds, limit):
    conf, v4, v6 = kind
    vdevs, softwires = devices(name, v4, v6), table(conf)
    cycles = measure.in_turn(rounds, {
        "perigee": lambda: measure.cycles_of(perigee(conf, vdevs, seconds)),
        "c": lambda: measure.reference_cycles("lwaftr", *vdevs, softwires,
                                              measure.BURST, seconds, timeout=300)})
    return measure.row("lwaftr, " + name, cycles["perigee"], cycles["c"], limit)


def two_against_one(kind, rounds, seconds):
    conf, v4, v6 = kind
    vdevs = devices("two", v4, v6, cpus=2)
    cpus = sorted(os.sched_getaffinity(0))[:2]

    def run(*on):
        return [[float(word) for word in line.split()]
                for line in perigee(conf, vdevs, seconds, *on).splitlines()]

    results = measure.in_turn(rounds, {"one": lambda: run(cpus[0]),
                                       "two": lambda: run(*cpus)})

    def quiet(name):
        good = [r for r in results[name]
                if all(cpu / wall >= QUIET for _, wall, cpu, _ in r)]
        return good if len(good) >= ENOUGH else None

    measured = {name: quiet(name) for name in results}
    busy = None in measured.values()
    cycles = {name: [r[0][3] / sum(packets / cpu for packets, _, cpu, _ in r)
                     for r in measured[name] or results[name]] for name in results}
    title = "lwaftr, two CPUs / one" + (" (CPUs too busy to judge)" if busy else "")
    return measure.row(title, cycles["two"], cycles["one"],
                       None if busy else TWO_LIMIT)


def written(name, kind):
    """Files of a configuration and of the packets of both sides."""
    conf, v4, v6 = kind
    return conf, *(traffic.write("lwaftr-%s-%s" % (name, side), frames)
                   for side, frames in (("v4", v4), ("v6", v6)))


def against_snabb(snabb, large, rounds, seconds):
    """CPU time a packet of both programs' `lwaftr bench`: with upstream's files, and with
    a configuration of many softwires; `large` is its name and what belongs to it."""
    from upstream import lwaftr
    files = {"%d B" % size: lwaftr.files(snabb, size) for size in SNABB_LIMITS}
    files[large[0]] = written("large", large[1])
    rows = []
    for name, some in files.items():
        if not all(file.exists() for file in some):
            continue
        turns = min(rounds, 3) if name == large[0] else rounds # it compiles for a minute
        times = measure.in_turn(turns, {
            "perigee": lambda: lwaftr.nanoseconds([measure.PERIGEE], some, seconds),
            "snabb": lambda: lwaftr.nanoseconds([snabb / "snabb"], some, seconds)})
        size = int(name.split()[0])
        rows.append(measure.row("lwaftr bench %s, ns a packet, against Snabb" % name,
                                times["perigee"], times["snabb"], SNABB_LIMITS[size]))
    return rows


def run(quick, rounds=None):
    measure.build("lwaftr")
    seconds = 0.3 if quick else 1
    rounds = rounds or (3 if quick else 9)
    all_cpus = os.sched_getaffinity(0)
    found, large = kinds(QUICK_LARGE if quick else LARGE)
    measure.pin()
    rows = [against_c(name, kind, rounds, seconds,
                      LIMIT if name in ("94 B", "550 B", large) else None)
            for name, kind in found.items()]
    os.sched_setaffinity(0, all_cpus)
    if len(all_cpus) > 1:
        rows.append(two_against_one(found["94 B"], rounds, seconds))
    if os.environ.get("SNABB"):
        path = measure.pathlib.Path(os.environ["SNABB"])
        path = path / "src" if (path / "src").is_dir() else path
        if (path / "snabb").exists():
            import hugepages  # of tools
            with hugepages.given_back():
                rows += against_snabb(path, (large, found[large]), rounds, seconds)
    return rows
