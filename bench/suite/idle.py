# SPDX-License-Identifier: Apache-2.0
"""What ports take of a CPU without packets and with few, and how late they are

An echo through Perigee's ports, in a namespace of its own, with `--sleep` adaptive and
never, beside a C program that sleeps in epoll and takes frames by recvmmsg. The rows
"CPU" are per cent of a CPU, of all threads, and their reference is the C program; the
rows "p50" and "p99" are microseconds of a round trip, and their reference is Perigee with
busy polling. memif and vhost are measured without packets, with a second process at their
other end. Then many processes at once, each with a packet port: what they take of a CPU
together (limit: 20 % for 100), wake-ups of the one that wakes up most (10 a second), and
the memory of the largest (PSS and hugepages: 40 MB). Each has to echo a frame. Needs root.
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from suite import measure

C = measure.ROOT / "build" / "bench" / "idle"
RATES = 1000, 10000
INSTANCES = 100
MB_EACH = 45            # of memory that is free, for as many as there is room for
MOST_SHARE, MOST_WAKEUPS, MOST_MB = 20, 10, 40
# Sends a frame by each interface, and prints how many came back.
ASK_ALL = """
import select, socket, sys, time
frame, left = b"\\2\\0\\0\\0\\0\\1\\2\\0\\0\\0\\0\\2\\x88\\xb6" + bytes(46), {}
for name in sys.argv[1:]:
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88b6))
    s.bind((name, 0))
    s.send(frame)
    left[s] = name
ends = time.monotonic() + 20
while left and time.monotonic() < ends:
    for s in select.select(list(left), [], [], 1)[0]:
        s.recv(2048)
        del left[s]
print(len(sys.argv) - 1 - len(left))
"""
SETTLE_S = 3
MODES = "adaptive", "never"
SHARED = {"memif": ("memif:%s/a,role=server", "memif:%s/a"),
          "vhost": ("vhost:%s/a", "virtio-user:%s/a")}


def inside(name, *words):
    return ["ip", "netns", "exec", name, *words]


@contextlib.contextmanager
def wires():
    """A namespace with `port`, and one with its other end, `wire`."""
    names = ["perigee-idle%d%s" % (os.getpid(), label) for label in "ab"]
    made = []
    try:
        for name in names:
            measure.command(["ip", "netns", "add", name], 10)
            made.append(name)
        near, far = names
        measure.command(["ip", "-n", near, "link", "add", "port", "type", "veth", "peer",
                         "name", "wire", "netns", far], 10)
        for name, end in (near, "port"), (far, "wire"):
            measure.command(inside(name, "ethtool", "-K", end, "tx", "off"), 10)
            measure.command(["ip", "-n", name, "link", "set", end, "up"], 10)
        yield near, far
    finally:
        for name in made:
            measure.command(["ip", "netns", "delete", name], 10)


@contextlib.contextmanager
def process(*words):
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen([str(w) for w in words], stdout=said, stderr=said)
        try:
            yield child.pid
            if child.poll() is not None:
                said.seek(0)
                raise measure.Failed("it ended: %s" % said.read())
        finally:
            child.send_signal(signal.SIGINT)
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def cpu_seconds(pid):
    """Of all threads."""
    return sum(int((task / "schedstat").read_text().split()[0])
               for task in pathlib.Path("/proc/%d/task" % pid).iterdir()) / 1e9


def share(pid, work):
    """What work() returns, and per cent of a CPU that the process took meanwhile."""
    before, began = cpu_seconds(pid), time.monotonic()
    result = work()
    return result, 100 * (cpu_seconds(pid) - before) / (time.monotonic() - began)


def ask(far, iface, rate, seconds):
    words = measure.command(inside(far, C, "ask", iface, str(rate), str(seconds)),
                            seconds + 30).split()
    sent, came, p50, p99 = map(float, words[:4])
    return {"lost": sent - came, "p50": p50, "p99": p99}


def visit(pid, far, iface, seconds, rates=RATES):
    """{"idle": per cent, (RATE, what): figure}."""
    if rates:
        ask(far, iface, rates[0], 1)  # what is compiled is compiled then
    time.sleep(SETTLE_S)
    found = {"idle": share(pid, lambda: time.sleep(seconds))[1]}
    for rate in rates:
        figures, found[rate, "CPU"] = share(pid, lambda r=rate: ask(far, iface, r, seconds))
        found.update(((rate, name), value) for name, value in figures.items())
    return found


def echo(kind, mode, seconds):
    with wires() as (near, far):
        name, asks, by = ("made", near, "made") if kind == "tap" else ("port", far, "wire")
        with process(*inside(near, measure.PERIGEE, "--sleep", mode, "echo",
                             kind + ":" + name, "1")) as pid:
            time.sleep(SETTLE_S)
            return visit(pid, asks, by, seconds)


def reference(seconds):
    with wires() as (near, far), process(*inside(near, C, "echo", "port")) as pid:
        time.sleep(1)
        return visit(pid, far, "wire", seconds)


def shared(kind, mode, seconds):
    with tempfile.TemporaryDirectory() as folder:
        one, other = (text % folder for text in SHARED[kind])
        with process(measure.PERIGEE, "--sleep", mode, "echo", one, "1") as pid:
            time.sleep(SETTLE_S)
            with process(measure.PERIGEE, "echo", other, "1"):
                return visit(pid, None, None, seconds, ())


def free_mb():
    lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvail")) / 1024


def wakeups(pid):
    """Of all threads."""
    texts = ((task / "status").read_text()
             for task in pathlib.Path("/proc/%d/task" % pid).iterdir())
    return sum(int(text.split("\nvoluntary_ctxt_switches:")[1].split()[0]) for text in texts)


def megabytes(pid):
    kb = dict(line.split()[:2] for line in
              pathlib.Path("/proc/%d/smaps_rollup" % pid).read_text().splitlines()[1:])
    return (int(kb["Pss:"]) + int(kb["Private_Hugetlb:"])) / 1024


def many(n, seconds):
    """{"share": per cent of a CPU of all, "wakeups": a second, "MB": of the largest}."""
    with wires() as (near, far), contextlib.ExitStack() as stack:
        pids = []
        for i in range(n):
            measure.command(["ip", "-n", near, "link", "add", "port%d" % i, "up", "type",
                             "veth", "peer", "name", "wire%d" % i, "netns", far], 10)
            measure.command(["ip", "-n", far, "link", "set", "wire%d" % i, "up"], 10)
            pids.append(stack.enter_context(process(*inside(
                near, measure.PERIGEE, "echo", "packet:port%d" % i, "1"))))
        time.sleep(SETTLE_S + n / 4)
        before, began = [(cpu_seconds(pid), wakeups(pid)) for pid in pids], time.monotonic()
        time.sleep(seconds)
        after = [(cpu_seconds(pid), wakeups(pid)) for pid in pids]
        took = time.monotonic() - began
        came = int(measure.command(inside(far, "python3", "-c", ASK_ALL, *(
            "wire%d" % i for i in range(n))), 60))
        if came != n:
            raise measure.Failed("%d of %d echoed a frame" % (came, n))
        both = list(zip(before, after))
        return {"share": 100 * sum(b[0] - a[0] for a, b in both) / took,
                "wakeups": max(b[1] - a[1] for a, b in both) / took,
                "MB": max(map(megabytes, pids))}


def many_rows(quick):
    n = 4 if quick else min(INSTANCES, int(free_mb() / MB_EACH))
    found = many(n, 2 if quick else 10)
    return [measure.row("%d instances, CPU %% / %g" % (n, MOST_SHARE * n / INSTANCES),
                        [found["share"]], [MOST_SHARE * n / INSTANCES], 1),
            measure.row("%d instances, wake-ups a second / %d" % (n, MOST_WAKEUPS),
                        [found["wakeups"]], [MOST_WAKEUPS], 1),
            measure.row("%d instances, MB / %d" % (n, MOST_MB), [found["MB"]], [MOST_MB], 1)]


def run(quick, rounds=None):
    if os.geteuid() != 0:
        print("not measured: this makes network namespaces, as root")
        return []
    measure.build("idle")
    seconds = 1 if quick else 5
    kinds = ("packet",) if quick else ("packet", "tap", "xdp")
    functions = {"C": lambda: reference(seconds)}
    for mode in MODES:
        for kind in kinds:
            functions[kind, mode] = lambda k=kind, m=mode: echo(k, m, seconds)
        for kind in () if quick else SHARED:
            functions[kind, mode] = lambda k=kind, m=mode: shared(k, m, seconds)
    found = measure.in_turn(rounds or (1 if quick else 3), functions)

    def values(who, what):
        return [one[what] for one in found[who]]

    rows = []
    for name in found:
        if name == "C" or name[1] != "adaptive":
            continue
        kind, never = name[0], (name[0], "never")
        rows.append(measure.row("%s, idle, CPU %% / busy polling" % kind,
                                values(name, "idle"), values(never, "idle")))
        for rate in RATES if kind in kinds else ():
            rows.append(measure.row("%s, %d pps, CPU %% / C" % (kind, rate),
                                    values(name, (rate, "CPU")), values("C", (rate, "CPU"))))
            for what in "p50", "p99":
                rows.append(measure.row("%s, %d pps, %s us / busy polling" % (
                    kind, rate, what), values(name, (rate, what)),
                    values(never, (rate, what))))
    for rate in RATES:
        rows.append(measure.row("C, %d pps, p99 us / packet busy polling" % rate,
                                values("C", (rate, "p99")),
                                values(("packet", "never"), (rate, "p99"))))
    return rows + many_rows(quick)
