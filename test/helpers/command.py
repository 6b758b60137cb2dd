# SPDX-License-Identifier: Apache-2.0
"""Running the perigee binary and the tools the tests need. Every process that is
started here has a timeout, and is killed when its test ends."""

import contextlib
import functools
import os
import pathlib
import resource
import selectors
import shutil
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PERIGEE = ROOT / "perigee"
TIMEOUT_S = 180  # nothing is measured by it; with 20 others at work 60 were too few


def tool(name):
    """The path of a program; its absence fails the test, it doesn't skip it."""
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    assert path, f"{name} is missing: `make test` installs it"
    return path


def readable_copy(folder):
    """Copy what perigee runs from into the folder, for all users to read; its path."""
    shutil.copy(PERIGEE, folder / "perigee")
    for tree in "src", "snabb", "click", "moongen":
        shutil.copytree(ROOT / tree, folder / tree)
    subprocess.run([tool("chmod"), "-R", "a+rX", folder], check=True)
    return folder / "perigee"


def run(*command, **kwargs):
    """Run a command to its end; the result has returncode, stdout and stderr."""
    kwargs = {"capture_output": True, "text": True, "timeout": TIMEOUT_S, **kwargs}
    return subprocess.run([str(word) for word in command], **kwargs)


def check(*command, **kwargs):
    """Run a command that must succeed; its standard output."""
    result = run(tool(command[0]), *command[1:], **kwargs)
    assert result.returncode == 0, f"{command}: {result.stderr}"
    return result.stdout


def perigee(*args, **kwargs):
    """Run perigee to its end."""
    return run(PERIGEE, *args, **kwargs)


@functools.cache
def is_sanitized():
    """Is it built with GCC's checks? Their memory is terabytes, of which little is used."""
    return b"__asan_init" in PERIGEE.read_bytes()


def limit_memory(most_bytes):
    """A process, before it becomes perigee, may have so much private memory."""
    if not is_sanitized():
        resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, most_bytes))


def catches(pid, number=signal.SIGURG):
    """Has the process a handler for the signal (proc(5))? For SIGURG a perigee has one as
    soon as it looks for signals, so that one ends it with its report."""
    with open(f"/proc/{pid}/status") as status:
        mask = next(line for line in status if line.startswith("SigCgt"))
    return int(mask.split()[1], 16) & 1 << number - 1


class Status(int):
    """An exit status. Where an assertion prints it, it prints what the process said."""

    def __new__(cls, status, said):
        self = super().__new__(cls, status)
        self.said = said
        return self

    def __repr__(self):
        return f"{int(self)} (the process said: {self.said[-2000:]!r})"


class Running:
    """A process that runs beside the test; its standard output and error are kept,
    mixed, in `said`."""

    def __init__(self, command, **kwargs):
        self.process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kwargs)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.raw = b""

    @property
    def pid(self):
        return self.process.pid

    @property
    def said(self):
        return self.raw.decode(errors="replace")

    def read(self, seconds=0.0):
        """Take in what the process says, waiting so long for it; False at its end."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                return True
        data = self.process.stdout.read()
        self.raw += data or b""
        return data != b""

    def runs_for(self, seconds):
        """Does it go on running for so long?"""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            if not self.read(left):
                return False
        return True

    def wait_for(self, text, timeout=TIMEOUT_S, count=1):
        """Wait until the process has said `text`, so many times."""
        ends = time.monotonic() + timeout
        while self.said.count(text) < count:
            alive = self.read(0.1)
            assert alive or self.said.count(text) >= count, \
                f"ended without {text!r}: {self.said}"
            assert time.monotonic() < ends, f"no {text!r} in time: {self.said}"

    def wait_for_engine(self):
        """Wait until the engine of a perigee runs, and looks for signals."""
        def caught():
            assert self.read(), self.said
            return catches(self.pid)
        wait_until(caught, "the engine")

    def send(self, number):
        self.process.send_signal(number)

    def finish(self, timeout=TIMEOUT_S):
        """Wait for its end; the exit status (negative: the signal it died of)."""
        ends = time.monotonic() + timeout
        while self.read(0.1):
            assert time.monotonic() < ends, f"does not end: {self.said}"
        return Status(self.process.wait(max(0.1, ends - time.monotonic())), self.said)

    def interrupt(self, number=signal.SIGINT):
        """Send the signal and wait for the end; the exit status."""
        self.send(number)
        return self.finish()


@contextlib.contextmanager
def running(*command, **kwargs):
    """A Running process, killed at the end of the `with` if it still runs."""
    process = Running(command, **kwargs)
    try:
        yield process
    finally:
        process.process.kill()
        process.process.wait()
        process.process.stdout.close()


def wait_until(condition, what, timeout=TIMEOUT_S):
    """Poll `condition` until it gives something true, and return that. `what` it is, or a
    function that tells it once the time is up (what a process said until then)."""
    ends = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        assert time.monotonic() < ends, f"waited in vain for {what() if callable(what) else what}"
        time.sleep(0.01)
