# SPDX-License-Identifier: Apache-2.0
"""`lwaftr bench`, upstream's code on both: CPU time of the worker process and the
packets its two sinks got meanwhile, read from its tree of shared memory."""
import contextlib
import pathlib
import struct
import subprocess
import time

from suite import measure
from upstream import graphs

START_S = 20  # for a process to end
READY_S = 600  # for the worker to carry its first packets: it compiles its table before
WARM_UP_S = 1.0
LEAST_S = 1.0  # to measure: counters are published now and then


def processes_below(pid):
    """The process and all its descendants."""
    found = [pid]
    for parent in found:
        children = pathlib.Path("/proc/%d/task/%d/children" % (parent, parent))
        with contextlib.suppress(FileNotFoundError):
            found += map(int, children.read_text().split())
    return found


def worker_below(pid, root):
    """The process whose graph has the links of the sinks, and these links."""
    for child in processes_below(pid):
        links = list(root.glob("%d/links/*sinkv?*.input/rxpackets.counter" % child))
        if len(links) == 2:
            return child, links
    return None


def sample(worker, links):
    """Packets carried and CPU seconds of the worker until now."""
    cpu_ns = pathlib.Path("/proc/%d/schedstat" % worker).read_text().split()[0]
    packets = sum(struct.unpack("=Q", link.read_bytes()[:8])[0] for link in links)
    return packets, int(cpu_ns) * 1e-9


def wait_for_worker(manager, root):
    ends = time.monotonic() + READY_S
    while time.monotonic() < ends:
        if manager.poll() is not None:
            raise measure.Failed(
                "lwaftr bench ended with status %d" % manager.returncode)
        found = worker_below(manager.pid, root)
        if found and sample(*found)[0] > 0:
            return found
        time.sleep(0.01)
    raise measure.Failed("lwaftr bench carried no packet in %d s" % READY_S)


def files(snabb, size):
    """Upstream's own for packets of `size` bytes; `snabb` is a checkout's `src`."""
    tests = snabb / "program/lwaftr/tests"
    return [tests / "data/icmp_on_fail.conf",
            *(tests / ("benchdata/ipv%d-%04d.pcap" % (v, size)) for v in (4, 6))]


def nanoseconds(command, files, seconds):
    """CPU time a packet of a run with these files: a configuration and the packets of
    both sides."""
    with graphs.environment() as env, subprocess.Popen(
            [*command, "lwaftr", "bench", "-n", "bench", *files], env=env,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as manager:
        try:
            root = pathlib.Path(env["SNABB_SHM_ROOT"])
            worker, links = wait_for_worker(manager, root)
            time.sleep(WARM_UP_S)
            packets, cpu = sample(worker, links)
            time.sleep(max(seconds, LEAST_S))
            more_packets, more_cpu = sample(worker, links)
        finally:
            manager.terminate()
            manager.wait(START_S)
    if more_packets == packets:
        raise measure.Failed("lwaftr bench carried no packet while it was measured")
    return (more_cpu - cpu) / (more_packets - packets) * 1e9
