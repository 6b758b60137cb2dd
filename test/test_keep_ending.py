# SPDX-License-Identifier: Apache-2.0
"""A process that is started while the one before it ends: that one has let go of the name
(--keep), but has its ports still."""

import fcntl
import os
import signal

import pytest

from helpers.command import PERIGEE, running, wait_until
from helpers.network import veth
from test_keep import environment  # noqa: F401 (a fixture)

SCRIPT = """
local file = ...
local Slow = {}
function Slow:new() return setmetatable({}, {__index = Slow}) end
function Slow:pull()
  if not self.runs then print("it runs") io.flush() end
  self.runs = true
end
function Slow:stop()
  print("it stops")
  io.flush()
  repeat require("core.native").pg_sleep(0.01) until io.open(file)
end
local c = config.new()
config.app(c, "a", Slow) -- stopped first
config.app(c, "port", require("apps.port.port").Port, "packet:p0")
engine.configure(c)
engine.main{no_report = true}
"""


def is_free(path):
    """Does nobody have the name?"""
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(fd)


@pytest.mark.parametrize("options", [[], ["--standby"]], ids=["plain", "standby"])
def test_ports_are_opened_once_the_former_one_has_ended(
        namespace, environment, tmp_path, options):  # noqa: F811
    host, peer = namespace("h"), namespace("p")
    veth(host, "p0", peer, "eth0")
    script, go = tmp_path / "slow.lua", tmp_path / "go"
    script.write_text(SCRIPT)

    def start():
        return running(*host.command(PERIGEE, "--keep", "x", *options, "run", script, go),
                       env=environment)
    with start() as old:
        old.wait_for("it runs")
        old.send(signal.SIGTERM)
        old.wait_for("it stops")
        folder = tmp_path / "shm/keep/x"
        wait_until(lambda: is_free(folder), "the name")
        with start() as new:
            wait_until(lambda: new.read() and not is_free(folder), lambda: new.said)
            assert old.read(), old.said
            go.touch()
            new.wait_for("it runs")
            assert old.finish() == 0
            assert new.interrupt() == 0, new.said
