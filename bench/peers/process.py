# SPDX-License-Identifier: Apache-2.0
"""A peer's process: its port, and CPU time and packets between two moments."""
import contextlib
import os
import pathlib
import subprocess
import tempfile
import threading
import time

from suite import fastclick, measure

# What all receive from and send to: packets of 60 bytes, which the driver doesn't copy.
NULL = "net_null%d,size=60,copy=0"
POOL = 8192  # packets in a peer's pool, as in those of bench/native
WARM_UP_S = 0.5
PATIENCE_S = 30
LOOK_S = 0.05


def eal_arguments(ports=1):
    """For a peer: memory as Perigee takes it now, and null ports."""
    without = "--no-huge" in measure.eal_arguments()  # which --in-memory doesn't bear
    memory = ["--no-shconf", "--no-huge", "-m", "512"] if without else ["--in-memory"]
    return [*memory, "--no-pci", "--no-telemetry",
            "--file-prefix=peer-%d" % os.getpid(), "--log-level=error",
            *("--vdev=" + NULL % i for i in range(ports))]


def threads(pid):
    """CPU seconds of each thread of the process."""
    found = {}
    for task in pathlib.Path("/proc/%d/task" % pid).iterdir():
        with contextlib.suppress(OSError):  # it ended
            nanoseconds = (task / "schedstat").read_text().split()[0]
            found[task.name] = int(nanoseconds) / fastclick.NANOSECONDS
    return found


def busiest(before, after):
    """CPU seconds between the two of the thread that took most: the one packets have."""
    return max(after[task] - before.get(task, 0) for task in after)


def sample(process, packets):
    """Threads' CPU seconds, and what packets() says. That takes some time itself: the
    number is of some moment in it, and so the CPU time is of its middle."""
    began = threads(process.pid)
    count = packets()
    ended = threads(process.pid)
    return {task: (began.get(task, cpu) + cpu) / 2 for task, cpu in ended.items()}, count


def wait_for(what, process, name):
    """Until what() is true."""
    ends = time.monotonic() + PATIENCE_S
    while not what():
        if process.poll() is not None:
            raise measure.Failed("%s ended with status %d" % (name, process.returncode))
        if time.monotonic() > ends:
            raise measure.Failed("%s did nothing in %d s" % (name, PATIENCE_S))
        time.sleep(LOOK_S)


def pass_by(process, seconds):
    """Until a thread had so much CPU time: others may have the CPU meanwhile."""
    before = threads(process.pid)
    wait_for(lambda: busiest(before, threads(process.pid)) >= seconds, process,
             "the peer's thread")


def cycles(process, packets, seconds):
    """TSC cycles of CPU time a packet, while the process goes on; packets() is how many
    it has carried."""
    pass_by(process, WARM_UP_S)
    before, first = sample(process, packets)
    pass_by(process, seconds)
    after, last = sample(process, packets)
    if last <= first:
        raise measure.Failed("no packet was carried")
    return busiest(before, after) * measure.hertz() / (last - first)


@contextlib.contextmanager
def running(command, **more):
    """The command's process, with pipes; it is killed at the end, and after two minutes.
    Failed says the last line of what it wrote to stderr, if it ended by itself."""
    with tempfile.TemporaryFile("w+") as errors, subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=errors, text=True, **more) as process:
        patience = threading.Timer(4 * PATIENCE_S, process.kill)
        patience.start()
        try:
            yield process
        except (measure.Failed, OSError) as failed:
            if process.poll() is None:
                raise
            errors.seek(0)
            raise measure.Failed("%s: %s" % (
                failed, fastclick.last_line(errors.read()))) from None
        finally:
            patience.cancel()
            process.kill()
