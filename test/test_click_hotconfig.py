# SPDX-License-Identifier: Apache-2.0
"""`click -R`: a router's configuration is exchanged while it runs, by a control socket."""

import socket
import time

import pytest

from helpers.command import PERIGEE, TIMEOUT_S, running

OLD = "Idle -> s :: Switch(0) -> Idle; s[1] -> Idle; c :: Idle"
NEW = "Idle -> s :: Switch(1) -> Idle; s[1] -> Idle; DriverManager(wait_stop, stop)"


def connect(path):
    """A file of the control socket there, once it listens."""
    end = time.monotonic() + TIMEOUT_S
    while True:
        control = socket.socket(socket.AF_UNIX)
        try:
            control.connect(str(path))
            return control.makefile("rw", newline="")
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.05)


def ask(control, command):
    """The lines of the reply, and the data behind it if there are any."""
    control.write(command + "\r\n")
    control.flush()
    lines = [control.readline().rstrip()]
    while lines[-1][3] == "-":
        lines.append(control.readline().rstrip())
    if not command.startswith("READ") or not lines[-1].startswith("200"):
        return lines
    length = int(control.readline().split()[1])
    return control.read(length)


@pytest.mark.fast
def test_it_is_exchanged(tmp_path):
    path = tmp_path / "socket"
    with running(PERIGEE, "click", "-R", "-u", path, "-e", OLD) as click:
        control = connect(path)
        assert control.readline().startswith("Click::ControlSocket/1.")
        assert ask(control, "READ s.config") == "0"
        assert ask(control, f"WRITE hotconfig {NEW}")[0].startswith("200")
        assert ask(control, "READ s.config") == "1"
        # A wrong one changes nothing.
        assert ask(control, "WRITE hotconfig Switch")[1:] == [
            "520-config:1: 'Switch@1 :: Switch' input 0 unused",
            "520 Router could not be initialized!"]
        assert ask(control, "WRITE hotconfig a :: Swich")[1:] == [
            "520-config:1: unknown element class 'Swich'",
            "520 config:1:   did you mean 'Switch'?"]
        assert ask(control, "READ s.config") == "1"
        assert "c\n" not in ask(control, "READ list")
        # Commands that come together go to the router of their time.
        control.write(f"WRITE hotconfig {OLD}\r\nREAD s.config\r\n")
        control.flush()
        assert control.readline().startswith("200")
        assert control.readline().startswith("200")
        assert control.readline() == "DATA 1\r\n"
        assert control.read(1) == "0"
        ask(control, "WRITE stop")
        assert click.finish() == 0
