# SPDX-License-Identifier: Apache-2.0
"""What a terminal shows of work that takes over a second; a pipe gets nothing of it."""

import os
import pty
import subprocess
import threading

from scapy.all import Ether, wrpcap

from helpers.command import PERIGEE

FIND_LIMIT = ["loadtest", "find-limit", "--sizes", "60", "-b", "1e7", "-p", "1e7",
              "-D", "1.6s", "--warm-up", "0", "A", "B", "ring:x", "B", "A", "ring:x"]


def on_terminal(*args, when=lambda said: None):
    """Standard output, and what came to a terminal that is standard error; when() is called
    with that at each piece."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen([PERIGEE, *map(str, args)], stdout=subprocess.PIPE,
                                   stderr=theirs)
        os.close(theirs)
        said = b""
        try:
            while data := os.read(ours, 65536):
                said += data
                when(said)
        except OSError:  # all have closed it
            pass
        output = process.communicate()[0].decode()
        assert process.returncode == 0, (output, said)
        return output, said.decode()
    finally:
        os.close(ours)


def test_a_trial(tmp_path):
    output, said = on_terminal(*FIND_LIMIT)
    assert "\r\x1b[Ktrial at 0.01 Gbit/s: 1 of 2 s" in said
    assert said.endswith("\r\x1b[K") and "trial at" not in output
    result = subprocess.run([PERIGEE, *FIND_LIMIT], capture_output=True, text=True,
                            check=True)
    assert "trial at" not in result.stdout + result.stderr


def test_reading(tmp_path):
    """A file that comes slowly, until something is shown of it."""
    once, slow, shown = tmp_path / "once.pcap", tmp_path / "slow.pcap", threading.Event()
    wrpcap(str(once), [Ether() / bytes(46)] * 1000)
    data = once.read_bytes()
    os.mkfifo(slow)

    def feed():
        with open(slow, "wb") as file:
            file.write(data)
            while not shown.wait(0.1):
                file.write(data[24:] * 20)
    feeder = threading.Thread(target=feed)
    feeder.start()
    begins = f"\r\x1b[Kreading {slow}: "
    _, said = on_terminal("spread", "--on", "2", slow,
                          when=lambda said: begins.encode() in said and shown.set())
    shown.set()
    feeder.join()
    assert said.startswith(begins) and said.endswith("\r\x1b[K"), said
