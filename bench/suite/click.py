# SPDX-License-Identifier: Apache-2.0
"""Click configurations, as `perigee click` runs them

EtherMirror; a router with four interfaces, of the elements of Click's IP router, with
one next hop, four at random, and a mix of what a router meets (2 % of packets with a
TTL of 1, 2 % over the MTU, 1 % with options, 1 % ARP); a firewall (IPFilter) of 10, 100
and 1,000 rules; IPClassifier with four kinds of packets; a NAT (IPRewriter) with 1, 4
and 4,096 flows, and one to a server with a million, each packet of one of them at
random; a load balancer (RoundRobinIPMapper) with four servers and 1,024 flows; 20
strings, of which one packet of 200 bytes in a hundred has one (StringMatcher, by
Hyperscan, in C too; left out where that isn't installed); Tee. Packets come from a
capture file (copied from memory by net_pcap, for all) and go to null ports. The
references do the same work in C: flows and rules (by rte_acl where there are many) are
looked up for a burst of 32 or of perigee's size, whichever is better; then each packet goes
its whole way in a loop.

"mix, any order": each process has the packets of the mix in an order of its own. LuaJIT
makes of what comes first the way that is quickest, but no order may cost much.

With FASTCLICK_BIN=FILE, FastClick's program click built with DPDK, the same files run on
it, too; with PACKETMILL=1 also on a program for each, by PacketMill's source passes
(suite/packetmill.py).
"""
import ctypes
import random
import struct
import sys

from suite import fastclick, measure, packetmill, traffic

LIMIT = 1.15
PACKETS = 1024
HOPS = 4
MTU = 1500
STRINGS = 20


def interface(i):
    """Outbound elements of interface i, as in Click's IP router."""
    return """
paint{i} :: PaintTee({n});
options{i} :: IPGWOptions(10.0.{i}.1);
fix{i} :: FixIPSrc(10.0.{i}.1);
ttl{i} :: DecIPTTL;
cut{i} :: IPFragmenter({mtu});
lookup[{i}] -> DropBroadcasts -> paint{i} -> options{i} -> fix{i} -> ttl{i} -> cut{i}
  -> EtherEncap(0x0800, 02:00:00:00:02:0{n}, 02:00:00:00:01:0{n}) -> out{i};
paint{i}[1] -> ICMPError(10.0.{i}.1, redirect, host) -> lookup;
options{i}[1] -> ICMPError(10.0.{i}.1, parameterproblem) -> lookup;
ttl{i}[1] -> ICMPError(10.0.{i}.1, timeexceeded) -> lookup;
cut{i}[1] -> ICMPError(10.0.{i}.1, unreachable, needfrag) -> lookup;
""".format(i=i, n=i + 1, mtu=MTU)


def router():
    """A router's configuration: it comes in by port 0 and leaves by null ports."""
    text = "in :: FromDPDKDevice(0);\n"
    text += "".join('out%d :: ToDPDKDevice("null");\n' % i for i in range(HOPS))
    text += """
kind :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
in -> kind;
kind[0] -> Discard; kind[1] -> Discard; kind[3] -> Discard;
lookup :: StaticIPLookup(%s);
kind[2] -> Paint(9) -> Strip(14) -> CheckIPHeader(INTERFACES %s) -> lookup;
""" % (", ".join("10.0.%d.0/24 %d" % (i, i) for i in range(HOPS)),
       " ".join("10.0.%d.1/24" % i for i in range(HOPS)))
    return text + "".join(interface(i) for i in range(HOPS))


def mirror():
    return 'FromDPDKDevice(0) -> EtherMirror -> ToDPDKDevice("null");\n'


def firewall(rules):
    """Only the last of so many rules lets packets pass."""
    listed = ["deny src net 172.16.%d.0/24 && dst port %d" % (i % 256, 1000 + i)
              for i in range(rules - 1)] + ["allow udp"]
    return """FromDPDKDevice(0) -> Strip(14) -> CheckIPHeader -> IPFilter(%s)
  -> Unstrip(14) -> ToDPDKDevice("null");
""" % ", ".join(listed)


def nat():
    return """rw :: IPRewriter(pattern 192.0.2.1 1024-65535 - - 0 1);
FromDPDKDevice(0) -> Strip(14) -> CheckIPHeader -> rw;
rw[0] -> Unstrip(14) -> ToDPDKDevice("null");
rw[1] -> Discard;
"""


def many_flows():
    """As many as addresses: each packet gets one of them as its source."""
    return """rw :: IPRewriter(pattern - - 192.0.2.9 - 0 1, MAPPING_CAPACITY 4000000);
FromDPDKDevice(0) -> Strip(14) -> CheckIPHeader -> SetRandIPAddress(10.0.0.0/12)
  -> StoreIPAddress(src) -> SetIPAddress(10.0.0.2) -> rw;
rw[0] -> Unstrip(14) -> ToDPDKDevice("null");
rw[1] -> Discard;
"""


def classifier():
    return """c :: IPClassifier(tcp dst port 80, udp dst port 53, icmp, -);
FromDPDKDevice(0) -> Strip(14) -> CheckIPHeader -> c;
""" + "".join('c[%d] -> Unstrip(14) -> ToDPDKDevice("null");\n' % i for i in range(4))


def balancer():
    return """servers :: RoundRobinIPMapper(%s);
rw :: IPRewriter(servers);
FromDPDKDevice(0) -> Strip(14) -> CheckIPHeader -> rw;
rw[0] -> Unstrip(14) -> ToDPDKDevice("null");
rw[1] -> Discard;
""" % ", ".join("- - 192.168.0.%d - 0 1" % (i + 1) for i in range(HOPS))


def some_strings():
    """Words that can't be in a packet of digits."""
    return ["%s%d" % (word, i) for i in range(STRINGS // 4)
            for word in ("attack", "/etc/passwd", "cmd.exe", "select from")]


def string_match():
    return """FromDPDKDevice(0) -> m :: StringMatcher(%s) -> ToDPDKDevice("null");
m[1] -> ToDPDKDevice("null");
""" % ", ".join('"%s"' % text for text in some_strings())


def tee():
    return """t :: Tee(2);
FromDPDKDevice(0) -> t; t[0] -> ToDPDKDevice("null"); t[1] -> ToDPDKDevice("null");
"""


def plain(hops, dice):
    """Packets to addresses behind so many interfaces."""
    return [traffic.frame(60, 0x0a000002 + (dice.randrange(hops) << 8))
            for _ in range(PACKETS)]


def flows(count, dice):
    """UDP packets of so many flows, in random order."""
    frames = []
    for i in range(max(count, PACKETS)):
        port, hop = divmod(i % count, HOPS)
        data = bytearray(traffic.frame(60, 0x0a000002 + (hop << 8)))
        data[34:38] = struct.pack("!HH", 1024 + port, 53)
        frames.append(bytes(data))
    dice.shuffle(frames)
    return frames


def kinds_of_packets(dice):
    """For IPClassifier: each of its four outputs gets some."""
    frames = []
    for _ in range(PACKETS):
        protocol, port = dice.choice(((6, 80), (17, 53), (1, 0), (17, 5000)))
        data = bytearray(traffic.frame(60, 0x0a000002, protocol))
        data[36:38] = struct.pack("!H", port)
        frames.append(bytes(data))
    return frames


def texts(dice):
    """Packets of 200 bytes of digits and spaces; one in a hundred has a string in it."""
    frames = []
    for _ in range(PACKETS):
        text = "".join(dice.choices("0123456789 ", k=158))
        if dice.random() < 0.01:
            text = dice.choice(some_strings()) + text
        data = traffic.frame(42, 0x0a000002)
        frames.append((data + text.encode())[:200])
    return frames


def mix(dice):
    """What a router meets: mostly plain, few that need more work."""
    frames = []
    for data in plain(HOPS, dice):
        kind = dice.choices(("", "ttl", "long", "options", "arp"), (94, 2, 2, 1, 1))[0]
        destination, = struct.unpack("!I", data[30:34])
        if kind == "ttl":
            data = traffic.frame(60, destination, ttl=1)
        elif kind == "long":
            data = traffic.frame(1800, destination)
        elif kind == "options":
            data = with_options(destination)
        elif kind == "arp":
            data = traffic.frame(60, destination, ethertype=traffic.ARP)
        frames.append(data)
    return frames


def with_options(destination):
    """A packet with 4 bytes of options: no operation."""
    data = bytearray(traffic.frame(60, destination))
    data[14:] = b"\x46" + data[15:34] + b"\x01" * 4 + data[38:]
    data[24:26] = b"\0\0"
    data[24:26] = struct.pack("!H", traffic.checksum(bytes(data[14:38])))
    return bytes(data)


def any_order(order):
    """The mix in one of many orders: packets shuffled, or kind after kind."""
    frames, dice = mix(random.Random(1)), random.Random(order)
    dice.shuffle(frames)
    if order % 2:
        kinds = {}
        for data in frames: # by length, EtherType and header length, and TTL
            kinds.setdefault((len(data), data[12:15], data[22]), []).append(data)
        groups = list(kinds.values())
        dice.shuffle(groups)
        frames = [data for group in groups for data in group]
    return frames


CASES = {
    "mirror": (mirror, lambda dice: plain(1, dice), "mirror"),
    "router, one hop": (router, lambda dice: plain(1, dice), "router"),
    "router, 4 hops": (router, lambda dice: plain(HOPS, dice), "router"),
    "router, mix": (router, mix, "router"),
    **{"firewall, %d rules" % rules: (
        lambda rules=rules: firewall(rules), lambda dice: plain(HOPS, dice),
        "firewall:%d" % rules) for rules in (10, 100, 1000)},
    "classifier": (classifier, kinds_of_packets, "classifier"),
    **{"nat, %d flow%s" % (count, "" if count == 1 else "s"): (
        nat, lambda dice, count=count: flows(count, dice), "nat")
       for count in (1, 4, 4096)},
    "nat, 1,000,000 flows": (many_flows, lambda dice: flows(1, dice), "many-flows"),
    "load balancer": (balancer, lambda dice: flows(1024, dice), "balancer"),
    "strings": (string_match, texts, "strings:" + ",".join(some_strings())),
    "tee": (tee, lambda dice: plain(1, dice), "tee"),
}


def has_hyperscan():
    try:
        ctypes.CDLL("libhs.so.5")
    except OSError:
        print("strings: left out, for want of Hyperscan (libhyperscan5)", file=sys.stderr)
        return False
    return True


# Seconds until they are as they remain: nearly all flows are known.
WARM_UPS = {"nat, 1,000,000 flows": 6}
MOST_SPREAD = 1.2 # the slowest order to the median
# Of FastClick's cycles, where its packets are DPDK's (--enable-dpdk-packet).
FASTCLICK_LIMITS = {"router, one hop": 0.65, "router, 4 hops": 0.8, "router, mix": 0.8}


def orders(rounds, seconds, text):
    """Rows of the mix in any order, each process with another."""
    def device(order):
        name = "click-order%d" % order
        return traffic.DEVICE % traffic.write(name, any_order(order))
    devices = [device(order) for order in range(rounds)]
    mine, other = iter(devices), iter(devices)
    cycles = measure.in_turn(rounds, {
        "perigee": lambda: measure.script_cycles("click", text, seconds,
                                                 vdev=next(mine)),
        "c": lambda: measure.reference_cycles("click", "router", next(other),
                                              measure.BURST, seconds)})
    name = "router, mix, any order"
    return [measure.paired_row(name, cycles["perigee"], cycles["c"]),
            measure.worst_row(name, cycles["perigee"], cycles["c"], MOST_SPREAD)]


def run(quick, rounds=None):
    measure.build("click")
    measure.pin()
    seconds = 0.4 if quick else 1
    rounds = rounds or (5 if quick else 20)
    folder = measure.ROOT / "build" / "bench"
    rows, mill = [], packetmill.wanted()
    for i, (name, (configuration, packets, reference)) in enumerate(CASES.items()):
        if name == "strings" and not has_hyperscan():
            continue
        file = traffic.write("click%d" % i, packets(random.Random(1)))
        device = traffic.DEVICE % file
        text = folder / ("click%d.click" % i)
        text.write_text(configuration())
        warm_up = WARM_UPS.get(name, fastclick.WARM_UP_S)
        kinds = {
            "perigee": lambda: measure.script_cycles("click", text, seconds, warm_up,
                                                     vdev=device),
            **measure.in_c(lambda burst: measure.reference_cycles(
                "click", reference, device, burst, seconds))}
        if fastclick.binary():
            kinds["fastclick"] = lambda: fastclick.cycles(
                configuration(), device, seconds, warm_up)
        if mill and packetmill.can_make(
                fastclick.translate(configuration(), seconds, warm_up)[0]):
            kinds["packetmill"] = lambda: fastclick.cycles(
                configuration(), device, seconds, warm_up, packetmill.program)
        cycles = measure.in_turn(rounds, kinds)
        other = measure.best_in_c(cycles)
        rows += [measure.paired_row(name, cycles["perigee"], other, LIMIT),
                 measure.worst_row(name, cycles["perigee"], other)]
        for kind, whose in (("fastclick", "FastClick"), ("packetmill", "PacketMill")):
            if any(cycles.get(kind, ())):
                rows.append(measure.paired_row("%s, against %s" % (name, whose),
                                               cycles["perigee"], cycles[kind],
                                               FASTCLICK_LIMITS.get(name)))
    text = folder / "click-order.click"
    text.write_text(router())
    return rows + orders(rounds, seconds, text)
